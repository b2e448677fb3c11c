"""dbt's manifest, in memory or as JSON, as our graph. Imports no dbt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt_snapshot_plugin.model.graph import Graph, Macro, Node


def graph_from_json(manifest: Mapping[str, Any]) -> Graph:
    """From the content of target/manifest.json."""
    tables = {**manifest["nodes"], **manifest["sources"]}
    macros = manifest["macros"]
    return Graph(
        find_node=lambda uid: node_from_dict(tables[uid]) if uid in tables else None,
        find_macro=lambda uid: _macro_from_dict(macros[uid]) if uid in macros else None,
        node_ids=list(tables),
    )


def graph_from_memory(manifest: Any) -> Graph:
    """From dbt's own Manifest object; a node is converted when it is asked for."""

    def find(unique_id: str) -> Node | None:
        item = manifest.nodes.get(unique_id) or manifest.sources.get(unique_id)
        return node_from_dict(item.to_dict(omit_none=False)) if item is not None else None

    def find_macro(unique_id: str) -> Macro | None:
        item = manifest.macros.get(unique_id)
        if item is None:
            return None
        return Macro(item.package_name, item.macro_sql, tuple(item.depends_on.macros))

    ids = [*manifest.nodes, *manifest.sources]
    return Graph(find_node=find, find_macro=find_macro, node_ids=ids)


def node_from_dict(data: Mapping[str, Any]) -> Node:
    config = data.get("config") or {}
    depends = data.get("depends_on") or {}
    kind = str(data["resource_type"])
    return Node(
        unique_id=data["unique_id"],
        resource_type=kind,
        name=data["name"],
        package=data["package_name"],
        materialization="source" if kind == "source" else str(config.get("materialized", kind)),
        relation=plain_relation(data.get("relation_name")),
        path=data.get("original_file_path") or data.get("path") or "",
        root_path=data.get("root_path"),
        fqn=tuple(data.get("fqn") or ()),
        description=data.get("description") or "",
        tags=tuple(dict.fromkeys([*(data.get("tags") or []), *_list(config.get("tags"))])),
        meta={**(data.get("meta") or {}), **(config.get("meta") or {})},
        columns=data.get("columns") or {},
        raw_code=data.get("raw_code") or "",
        compiled_code=data.get("compiled_code"),
        config=config,
        depends_on=tuple(depends.get("nodes") or ()),
        macros=tuple(depends.get("macros") or ()),
        enabled=config.get("enabled", True) is not False,
        deferred_to=plain_relation((data.get("defer_relation") or {}).get("relation_name")),
    )


def plain_relation(name: str | None) -> str:
    """A relation as dbt renders it, without quoting: coffee.fct_orders."""
    return (name or "").replace("`", "").replace('"', "")


def _macro_from_dict(data: Mapping[str, Any]) -> Macro:
    depends = data.get("depends_on") or {}
    return Macro(
        package=data.get("package_name") or "",
        sql=data.get("macro_sql") or "",
        depends_on=tuple(depends.get("macros") or ()),
    )


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])
