"""`code_sha`: the logic that made a relation.

dbt's own checksum misses a changed macro or var, moves with line ends and is only the path for a
large seed, so this one is ours: raw code, the project's macros it reaches, the views it looks
through, the settings that can change values, and the vars and environment variables it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex
from dbt_snapshot_plugin.model.graph import OWN_PACKAGE, Graph, Node, reached_macros

HOST_PACKAGES = frozenset({"dbt", "dbt_spark", "dbt_databricks", OWN_PACKAGE})

# Settings that can change the values of a relation; storage, docs and grants can't.
VALUE_SETTINGS = [
    "materialized",
    "incremental_strategy",
    "unique_key",
    "on_schema_change",
    "merge_update_columns",
    "merge_exclude_columns",
    "incremental_predicates",
    "sql_header",
    "strategy",
    "updated_at",
    "check_cols",
    "invalidate_hard_deletes",
    "hard_deletes",
    "dbt_valid_to_current",
    "snapshot_meta_column_names",
    "quote_columns",
    "column_types",
    "delimiter",
    "event_time",
    "batch_size",
    "begin",
    "lookback",
    "concurrent_batches",
]
_HOOKS = ("pre-hook", "post-hook")
_VAR = re.compile(r"\bvar\s*\(\s*['\"]([^'\"]+)['\"]")
_ENV_VAR = re.compile(r"\benv_var\s*\(\s*['\"]([^'\"]+)['\"]")
_SECRET = "DBT_ENV_SECRET"

VarLookup = Callable[[str, str], Any]
"""(package, name) -> the value, or None where only the default in the code applies."""


def code_sha(
    graph: Graph,
    node: Node,
    through: Iterable[str],
    lookup_var: VarLookup,
    environ: Mapping[str, str],
    seed_bytes: bytes | None = None,
) -> str | None:
    """None for a source: dbt does not make it."""
    if node.resource_type == "source":
        return None
    involved = [node, *(n for n in (graph.node(u) for u in through) if n is not None)]
    parts = [_node_part(graph, n, lookup_var, environ) for n in involved]
    content: dict[str, Any] = {"nodes": sorted(parts, key=lambda p: str(p["unique_id"]))}
    if seed_bytes is not None:
        content["seed_sha256"] = sha256_hex(seed_bytes)
    return sha256_hex(canonical_json(content))


def _node_part(
    graph: Graph, node: Node, lookup_var: VarLookup, environ: Mapping[str, str]
) -> dict[str, Any]:
    macros = _users_macros(graph, node)
    settings = _settings(node)
    hooks = [sql for kind in _HOOKS for sql in settings.get(kind, [])]
    text = "\n".join([node.raw_code, *macros.values(), *hooks])
    named_vars = set(_VAR.findall(text)) - {OWN_PACKAGE}
    named_env = {name for name in _ENV_VAR.findall(text) if not name.startswith(_SECRET)}
    return {
        "unique_id": node.unique_id,
        "code": _normal(node.raw_code),
        "macros": macros,
        "settings": settings,
        "vars": {name: _plain(lookup_var(node.package, name)) for name in sorted(named_vars)},
        "env": {name: environ.get(name) for name in sorted(named_env)},
    }


def _users_macros(graph: Graph, node: Node) -> dict[str, str]:
    """Those of the project and its packages; what a host's macro calls back counts too."""
    return {
        macro_id: _normal(macro.sql)
        for macro_id, macro in reached_macros(graph, node.macros)
        if macro.package not in HOST_PACKAGES
    }


def _settings(node: Node) -> dict[str, Any]:
    config = node.config
    chosen = {k: _plain(config[k]) for k in VALUE_SETTINGS if config.get(k) is not None}
    for kind in _HOOKS:
        others = [_normal(sql) for sql in node.hooks(kind)]
        if others:
            chosen[kind] = others
    return chosen


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def _plain(value: Any) -> Any:
    """Dates and other YAML values by their text; floats stay numbers."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return str(value)
