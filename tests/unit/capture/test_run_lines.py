"""The lines of a run: one for each relation, and what to do next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt_snapshot_plugin.ops.capture import Captured
from dbt_snapshot_plugin.report.run_lines import capture_line, summary_line
from dbt_snapshot_plugin.report.style import PLAIN
from tests.factories import ORDERS

NEW = Captured(
    ORDERS,
    "new",
    seq=3,
    metadata_sha="ab" * 32,
    num_rows=1200,
    num_columns=4,
    qa_state="PASS",
)


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (NEW, "1,200 rows, 4 columns, snapshot 3 abababababab (new), qa PASS [1.50s]"),
        (
            replace(NEW, outcome="metadata", qa_state=None),
            "1,200 rows, 4 columns, snapshot 3 abababababab (new, metadata only), qa UNKNOWN "
            "[1.50s]",
        ),
        (
            replace(NEW, outcome="unchanged", num_rows=None),
            "rows not read, 4 columns, snapshot 3 abababababab (unchanged), qa PASS [1.50s]",
        ),
        (Captured(ORDERS, "skipped", reason="it is empty"), "not captured: it is empty"),
        (Captured(ORDERS, "failed", reason="no\n  next:  x"), "FAILED: no\n  next:  x"),
    ],
)
def test_one_line_for_one_relation(result: Captured, line: str) -> None:
    assert capture_line("orders", result, 1.5, PLAIN) == f"orders: {line}"


def test_the_summary_says_what_to_do_next() -> None:
    assert summary_line([NEW, NEW, replace(NEW, outcome="unchanged")], "/store") == (
        "dataset snapshots in /store: 2 new, 1 unchanged; next: dbt-snapshot list"
    )
    failed = Captured(ORDERS, "failed", reason="x")
    assert summary_line([NEW, failed], None) == (
        "dataset snapshots: 1 new, 1 failed; next: dbt-snapshot capture"
    )
    assert summary_line([], "/store") == (
        "dataset snapshots in /store: none; next: dbt-snapshot list"
    )
