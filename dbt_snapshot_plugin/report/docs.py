"""Puts QA state, rows and version on the pages that `dbt docs generate` writes.

Only files under target/ are changed, never a description: with `persist_docs` a changed
description would make every model `state:modified`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

COLOURS = {"PASS": "#2e7d32", "FAIL": "#c62828", "UNKNOWN": "#9e9e9e"}


class Facts(Protocol):
    @property
    def state(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def num_rows(self) -> int | None: ...
    @property
    def version(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def created_at(self) -> str: ...


def decorate_manifest(manifest: dict[str, Any], facts: Mapping[str, Facts]) -> dict[str, Any]:
    """Meta rows and the lineage graph's colour; a colour of the user's own is kept."""
    for table in ("nodes", "sources"):
        for unique_id, node in manifest.get(table, {}).items():
            if unique_id not in facts:
                continue
            fact = facts[unique_id]
            meta = dict(node.get("meta") or {})
            for key, value in _rows(fact).items():
                meta.setdefault(key, value)
            node["meta"] = meta
            docs = node.get("docs")
            if isinstance(docs, dict) and not docs.get("node_color"):
                docs["node_color"] = COLOURS[fact.state]
    return manifest


def decorate_catalog(catalog: dict[str, Any], facts: Mapping[str, Facts]) -> dict[str, Any]:
    """Statistics of the page's Details, labelled: dbt-spark shows a row count of its own."""
    for table in ("nodes", "sources"):
        for unique_id, node in catalog.get(table, {}).items():
            if unique_id not in facts:
                continue
            stats = node.setdefault("stats", {})
            for key, value in _rows(facts[unique_id]).items():
                stats[f"dbt_snapshot_{key}"] = {
                    "id": f"dbt_snapshot_{key}",
                    "label": key.replace("_", " ").capitalize().replace("Qa", "QA"),
                    "value": value,
                    "include": True,
                    "description": "recorded by dbt-snapshot",
                }
            stats["has_stats"] = {
                "id": "has_stats",
                "label": "Has Stats?",
                "value": True,
                "include": False,
                "description": "Indicates whether there are statistics for this table",
            }
    return catalog


def _rows(fact: Facts) -> dict[str, str]:
    rows = {
        "qa_status": fact.state,
        "qa_summary": fact.summary,
        "dataset_snapshot": f"#{fact.seq} {fact.version}",
        "snapshot_taken": fact.created_at[:19].replace("T", " ") + " UTC",
    }
    if fact.num_rows is not None:
        rows["snapshot_rows"] = f"{fact.num_rows:,}"
    return rows
