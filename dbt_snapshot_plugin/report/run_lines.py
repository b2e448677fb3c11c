"""The lines that a capture prints while dbt or the command line runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from dbt_snapshot_plugin.report.style import Style
from dbt_snapshot_plugin.report.table import clean
from dbt_snapshot_plugin.report.text import number, short

_WORDS = {"new": "new", "metadata": "new, metadata only", "unchanged": "unchanged"}


class Result(Protocol):
    """What a line says of one capture."""

    @property
    def outcome(self) -> str: ...
    @property
    def seq(self) -> int | None: ...
    @property
    def metadata_sha(self) -> str | None: ...
    @property
    def num_rows(self) -> int | None: ...
    @property
    def num_columns(self) -> int | None: ...
    @property
    def qa_state(self) -> str | None: ...
    @property
    def reason(self) -> str | None: ...


def capture_line(name: str, result: Result, seconds: float, style: Style) -> str:
    """One line for one relation: what is there, what became of it, what QA says."""
    if result.outcome not in _WORDS:
        word = "FAILED" if result.outcome == "failed" else "not captured"
        return f"{clean(name)}: {word}: {result.reason}"
    rows = f"{number(result.num_rows)} rows" if result.num_rows is not None else "rows not read"
    return (
        f"{clean(name)}: {rows}, {result.num_columns} columns, snapshot {result.seq} "
        f"{short(result.metadata_sha or '')} ({_WORDS[result.outcome]}), "
        f"qa {style.state(result.qa_state or 'UNKNOWN')} [{seconds:.2f}s]"
    )


def summary_line(results: Sequence[Result], root: str | None) -> str:
    """How many of each, where they are, and what to do next."""
    counts = Counter(result.outcome for result in results)
    order = ("new", "metadata", "unchanged", "skipped", "failed")
    listing = ", ".join(f"{counts[name]} {name}" for name in order if counts[name]) or "none"
    step = "dbt-snapshot capture" if counts["failed"] else "dbt-snapshot list"
    where = f" in {clean(root)}" if root else ""
    return f"dataset snapshots{where}: {listing}; next: {step}"
