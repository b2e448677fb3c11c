"""What `qa ingest` and `gate` print for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from dbt_snapshot_plugin.report.style import Style
from dbt_snapshot_plugin.report.table import clean, render_table

Document = dict[str, Any]
STATES = ("FAIL", "UNKNOWN", "PASS")
# What to do about a dataset that does not pass, the most urgent first.
_STEPS = {
    "failed": "see `dbt-snapshot show DATASET`, mend the data or the check, build and check again",
    "uncaptured": "build it with the hook on, or run `dbt-snapshot capture`, then check it again",
    "unreadable": "run the checkpoint again, then `dbt-snapshot qa ingest`",
    "stale": "run the checkpoint again, then `dbt-snapshot qa ingest`",
    "unchecked": "check it with a suite that names it (meta dbt_unique_id) and run `dbt-snapshot "
    "qa ingest`, or gate with --allow-unchecked",
}
_ANY_STEP = "see `dbt-snapshot show DATASET`, or gate with --allow-unknown"


def render_ingestion(rows: Sequence[Document], summary: str, style: Style) -> str:
    """The rows in a table, why those that do not pass do not, and a last line."""
    lines = []
    if rows:
        header = ["file", "suite", "dataset", "qa", "basis", "reason"]
        cells = [
            [
                short_file(row["file"]),
                row["suite"] or "-",
                row["dataset"] or "-",
                row["state"],
                row["basis"] or "-",
                row["reason"] or "",
            ]
            for row in rows
        ]
        lines.append(render_table(header, cells, _wide(style)))
    lines.append(clean(summary))
    return "\n".join(lines)


def short_file(path: str) -> str:
    """GX's file names repeat; the directory above, a time, tells the runs apart."""
    return "/".join(PurePath(path).parts[-2:])


def render_gate(doc: Document, style: Style) -> str:
    """Worst first, as the document has them; the last line holds the verdict and what to do."""
    lines = []
    if doc["datasets"]:
        header = ["dataset", "qa", "gate", "why"]
        cells = [[d["dataset"], d["state"], d["result"], _why(d)] for d in doc["datasets"]]
        lines.append(render_table(header, cells, _wide(style)))
    lines.append(gate_line(doc, style))
    return "\n".join(lines)


def gate_line(doc: Document, style: Style) -> str:
    states = Counter(d["state"] for d in doc["datasets"])
    counts = ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
    line = f"GATE: {style.state(doc['result'])} ({counts or 'nothing to judge'})"
    return line if doc["result"] == "PASS" else f"{line}; next: {_next_step(doc)}"


def _next_step(doc: Document) -> str:
    if not doc["datasets"]:
        return "build a model with the hook on (`dbt run`), or run `dbt-snapshot capture`"
    failing = [d for d in doc["datasets"] if d["result"] == "FAIL"]
    codes = {reason["code"] for d in failing for reason in d["reasons"]}
    return next((step for code, step in _STEPS.items() if code in codes), _ANY_STEP)


def _why(dataset: Document) -> str:
    return "; ".join(f"{r['code']}: {r['text']}" for r in dataset["reasons"])


def _wide(style: Style) -> Style:
    """A reason that is cut helps nobody."""
    return Style(width=10_000, colour=style.colour)
