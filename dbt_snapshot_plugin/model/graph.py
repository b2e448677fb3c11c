"""The dbt graph as we need it: nodes, macros, and what a node is made from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

# A relation of these is not stored, so what stands behind it is what was read.
LOOKED_THROUGH = frozenset({"view", "ephemeral"})
NEVER_STORED = frozenset({"ephemeral", "inline"})
BUILT_TYPES = frozenset({"model", "seed", "snapshot"})
OWN_PACKAGE = "dbt_snapshot"
OWN_MACRO = "macro.dbt_snapshot.profile"
_OWN_CALL = re.compile(r"\{\{-?\s*dbt_snapshot\s*\.\s*profile\s*\([^)]*\)\s*-?\}\}")
_NOT_SO = frozenset({"", "false", "no", "off", "0"})


@dataclass(frozen=True)
class Node:
    """A model, seed, snapshot or source."""

    unique_id: str
    resource_type: str
    name: str
    package: str
    materialization: str
    relation: str
    path: str
    root_path: str | None
    fqn: tuple[str, ...]
    description: str
    tags: tuple[str, ...]
    meta: Mapping[str, Any]
    columns: Mapping[str, Mapping[str, Any]]
    raw_code: str
    compiled_code: str | None
    config: Mapping[str, Any]
    depends_on: tuple[str, ...]
    macros: tuple[str, ...]
    enabled: bool = True
    deferred_to: str = ""
    """The relation that `--defer` may put in its place."""

    @property
    def looked_through(self) -> bool:
        return self.materialization in LOOKED_THROUGH

    @property
    def buildable(self) -> bool:
        """Whether dbt builds a relation for it."""
        return (
            self.enabled
            and self.resource_type in BUILT_TYPES
            and self.materialization not in NEVER_STORED
        )

    @property
    def settings(self) -> Mapping[str, Any]:
        """The node's own settings of this plugin: `meta.dbt_snapshot`."""
        found = self.meta.get("dbt_snapshot")
        return found if isinstance(found, Mapping) else {}

    def hooks(self, kind: str) -> list[str]:
        """The SQL of its `pre-hook` or `post-hook`, without our own call."""
        texts = (_OWN_CALL.sub("", sql).strip() for sql in _hook_sql(self.config, kind))
        return [text for text in texts if text]

    @property
    def has_own_hook(self) -> bool:
        """Whether a post-hook calls our macro by its name."""
        return any(_OWN_CALL.search(sql) for sql in _hook_sql(self.config, "post-hook"))


def _hook_sql(config: Mapping[str, Any], kind: str) -> list[str]:
    found = config.get(kind) or []
    hooks = [found] if isinstance(found, (str, Mapping)) else found
    return [str(h.get("sql", "")) if isinstance(h, Mapping) else str(h) for h in hooks]


@dataclass(frozen=True)
class Macro:
    """The source of one macro, and what it calls."""

    package: str
    sql: str
    depends_on: tuple[str, ...]


@dataclass
class Graph:
    """Looks nodes up one by one: converting a whole in-memory manifest would cost seconds."""

    find_node: Callable[[str], Node | None]
    find_macro: Callable[[str], Macro | None]
    node_ids: Iterable[str]
    _cache: dict[str, Node | None] = field(default_factory=dict)
    _macros: dict[str, Macro | None] = field(default_factory=dict)

    def node(self, unique_id: str) -> Node | None:
        if unique_id not in self._cache:
            self._cache[unique_id] = self.find_node(unique_id)
        return self._cache[unique_id]

    def macro(self, unique_id: str) -> Macro | None:
        if unique_id not in self._macros:
            self._macros[unique_id] = self.find_macro(unique_id)
        return self._macros[unique_id]

    def forget(self, unique_id: str) -> None:
        """A node's compiled code appears while it runs: look again."""
        self._cache.pop(unique_id, None)


def reached_macros(graph: Graph, first: Iterable[str]) -> Iterator[tuple[str, Macro]]:
    """The macros that these call, directly or not; each once, in no order."""
    seen: set[str] = set()
    pending = list(first)
    while pending:
        macro_id = pending.pop()
        macro = graph.macro(macro_id) if macro_id not in seen else None
        seen.add(macro_id)
        if macro is not None:
            yield macro_id, macro
            pending.extend(macro.depends_on)


def asks_for_snapshot(graph: Graph, node: Node) -> bool:
    """Whether a post-hook calls our macro, itself or through a macro of the project.

    dbt lists the macros that hooks call among those of the node.
    """
    reached = reached_macros(graph, node.macros)
    return node.has_own_hook or any(macro_id == OWN_MACRO for macro_id, _ in reached)


@dataclass(frozen=True)
class Upstream:
    """What a node reads: datasets that hold data, and the views on the way to them."""

    data: tuple[str, ...]
    through: tuple[str, ...]


def upstream(graph: Graph, unique_id: str) -> Upstream:
    """Follows the graph up to the first relations that hold data."""
    data: set[str] = set()
    through: set[str] = set()
    node = graph.node(unique_id)
    pending = list(node.depends_on) if node else []
    while pending:
        parent_id = pending.pop()
        parent = graph.node(parent_id)
        if parent is None or parent_id in data or parent_id in through:
            continue
        if parent.looked_through:
            through.add(parent_id)
            pending.extend(parent.depends_on)
        else:
            data.add(parent_id)
    return Upstream(data=tuple(sorted(data)), through=tuple(sorted(through)))


def marked_columns(node: Node, mark: str) -> list[str]:
    """Columns whose dbt tags or meta carry a mark such as `pii`; any value but a no counts."""
    found = []
    for name, column in node.columns.items():
        settings = column.get("config") or {}
        tags = [*(column.get("tags") or []), *(settings.get("tags") or [])]
        meta = {**(column.get("meta") or {}), **(settings.get("meta") or {})}
        own = meta.get("dbt_snapshot")
        marks = [meta.get(mark), own.get(mark) if isinstance(own, Mapping) else None]
        if mark in tags or any(_is_yes(value) for value in marks):
            found.append(name)
    return found


def _is_yes(value: Any) -> bool:
    return value is not None and str(value).strip().lower() not in _NOT_SO


DEFAULT_STAGES = {"staging": "cleaned", "intermediate": "featurized", "marts": "final"}


def pipeline_stage(node: Node, rules: Mapping[str, str]) -> str | None:
    """`stage_rules` maps a folder of the project to a stage; sources and seeds are raw."""
    if node.resource_type in {"source", "seed"}:
        return "raw"
    stages = {**DEFAULT_STAGES, **rules}
    return next((stages[part] for part in node.fqn if part in stages), None)
