"""The dbt graph as we need it: nodes, macros, and what a node is made from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

# A relation of these is not stored, so what stands behind it is what was read.
LOOKED_THROUGH = frozenset({"view", "ephemeral"})
NEVER_STORED = frozenset({"ephemeral", "inline"})
BUILT_TYPES = frozenset({"model", "seed", "snapshot"})
_OWN_HOOK = re.compile(r"\bdbt_snapshot\s*\.")


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
        """The SQL of its `pre-hook` or `post-hook`, ours left out."""
        return [sql for sql in _hook_sql(self.config, kind) if not _OWN_HOOK.search(sql)]

    @property
    def has_own_hook(self) -> bool:
        """Whether a post-hook asks for a dataset snapshot."""
        return any(_OWN_HOOK.search(sql) for sql in _hook_sql(self.config, "post-hook"))


def _hook_sql(config: Mapping[str, Any], kind: str) -> list[str]:
    found = config.get(kind) or []
    hooks = [found] if isinstance(found, (str, Mapping)) else found
    return [str(h.get("sql", "")) if isinstance(h, Mapping) else str(h) for h in hooks]


@dataclass(frozen=True)
class Macro:
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

    def node(self, unique_id: str) -> Node | None:
        if unique_id not in self._cache:
            self._cache[unique_id] = self.find_node(unique_id)
        return self._cache[unique_id]

    def forget(self, unique_id: str) -> None:
        """A node's compiled code appears while it runs: look again."""
        self._cache.pop(unique_id, None)


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
    """Columns whose dbt tags or meta carry a mark such as `pii`."""
    found = []
    for name, column in node.columns.items():
        settings = column.get("config") or {}
        tags = [*(column.get("tags") or []), *(settings.get("tags") or [])]
        meta = {**(column.get("meta") or {}), **(settings.get("meta") or {})}
        own = meta.get("dbt_snapshot") or {}
        if mark in tags or meta.get(mark) is True or own.get(mark) is True:
            found.append(name)
    return found


DEFAULT_STAGES = {"staging": "cleaned", "intermediate": "featurized", "marts": "final"}


def pipeline_stage(node: Node, rules: Mapping[str, str]) -> str | None:
    """`stage_rules` maps a folder of the project to a stage; sources and seeds are raw."""
    if node.resource_type in {"source", "seed"}:
        return "raw"
    stages = {**DEFAULT_STAGES, **rules}
    return next((stages[part] for part in node.fqn if part in stages), None)
