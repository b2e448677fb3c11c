"""Puts QA state, rows and version on the pages that `dbt docs generate` writes.

Only files under target/ are changed, never a description: with `persist_docs` a changed
description would make every model `state:modified`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dbt_snapshot_plugin.report.table import shorten

SUMMARY_WIDTH = 90  # characters that fit the width of the page
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
            node["meta"] = {**_short_facts(fact), **(node.get("meta") or {})}
            docs = node.get("docs")
            if isinstance(docs, dict) and not docs.get("node_color"):
                docs["node_color"] = COLOURS[fact.state]
    return manifest


def decorate_catalog(catalog: dict[str, Any], facts: Mapping[str, Facts]) -> dict[str, Any]:
    """The summary as a statistic: the page gives those a line of their own below the facts."""
    for table in ("nodes", "sources"):
        for unique_id, node in catalog.get(table, {}).items():
            if unique_id not in facts:
                continue
            stats = node.setdefault("stats", {})
            summary = shorten(facts[unique_id].summary, SUMMARY_WIDTH)
            stats["dbt_snapshot_qa"] = _statistic("dbt_snapshot_qa", "QA summary", summary)
            hidden = _statistic("has_stats", "Has Stats?", True)
            stats["has_stats"] = {**hidden, "include": False}
    return catalog


def _statistic(identifier: str, label: str, value: str | bool) -> dict[str, Any]:
    return {
        "id": identifier,
        "label": label,
        "value": value,
        "include": True,
        "description": "recorded by dbt-snapshot",
    }


def _short_facts(fact: Facts) -> dict[str, str]:
    """What fits on the page's one line of meta; what does not fit there is cut off unseen."""
    rows = {"qa_status": fact.state}
    if fact.num_rows is not None:
        rows["snapshot_rows"] = f"{fact.num_rows:,}"  # dbt-spark shows a row count of its own
    rows["dataset_snapshot"] = f"#{fact.seq} {fact.version}"
    rows["snapshot_taken"] = fact.created_at[:19].replace("T", " ") + " UTC"
    return rows
