"""Results as text, from the JSON documents of the commands."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from dbt_snapshot_plugin.ops.show import show
from dbt_snapshot_plugin.report.columns import render_columns
from dbt_snapshot_plugin.report.style import PLAIN, Style
from dbt_snapshot_plugin.report.text import (
    moment,
    number,
    render_datasets,
    render_profile,
    render_show,
    render_snapshots,
    render_validation,
    short,
)
from dbt_snapshot_plugin.store.memory import MemoryBackend
from spark_profiler import profile_arrow
from tests.factories import add_evidence, add_snapshot, memory_store, shop_store


def lines_of(text: str) -> dict[str, str]:
    """The lines by their first word."""
    return {line.split()[0]: line.strip() for line in text.splitlines() if line.strip()}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return show(shop_store(MemoryBackend()), "fct_orders").document


def test_nothing_to_list() -> None:
    assert render_datasets([], PLAIN) == "no datasets yet"
    assert render_snapshots([], 0, PLAIN) == "no snapshots yet"


def test_a_page_for_a_snapshot_at_depth_schema() -> None:
    repo = memory_store(0)
    fields: dict[str, Any] = {"depth": "schema", "profile": None, "num_rows": None}
    add_snapshot(repo, code_sha=None, pipeline_stage=None, **fields)
    lines = lines_of(render_show(show(repo, "fct_orders").document, 1, PLAIN))
    assert lines["rows"] == "rows         - in 3 columns"
    assert lines["order_id"] == "order_id  bigint     -         -  -    -"
    assert "code" not in lines
    assert "stage" not in lines
    assert "parents" not in lines


def test_a_suite_that_failed_is_named(document: dict[str, Any]) -> None:
    repo = memory_store(1)
    add_evidence(repo, repo.resolve("fct_orders"), passed=False)
    text = render_show(show(repo, "fct_orders").document, 1, Style(colour=True))
    assert "qa \x1b[31mFAIL\x1b[0m: " in text
    assert "not_be_null(email) failed" in text
    assert "it was \x1b[33mUNKNOWN\x1b[0m when the snapshot was recorded" in text
    assert "1/2" in text


def test_a_parent_that_is_not_pinned_says_why(document: dict[str, Any]) -> None:
    parents = [
        {"unique_id": "model.shop.v", "basis": "captured", "looked_through": True, "seq": 1},
        {"unique_id": "model.shop.x", "basis": "unpinned", "reason": "it has no snapshot"},
    ]
    lines = lines_of(render_show({**document, "parents": parents}, 3, PLAIN))
    assert lines["model.shop.v"].endswith("looked through")
    assert lines["model.shop.x"].split(maxsplit=4)[1:] == [
        "-",
        "-",
        "unpinned",
        "it has no snapshot",
    ]


KINDS: list[tuple[str, pa.DataType, list[Any], str]] = [
    ("bigint", pa.int64(), [1000, 3000, None], "33.3% 2 1,000 3,000 mean 2,000, std"),
    ("double", pa.float64(), [0.5, 1e20, 0.5], "0.0% 2 0.5 1e+20"),
    ("boolean", pa.bool_(), [True, False, True], "0.0% 2 - - 2 true, 1 false"),
    ("date", pa.date32(), [0, 1, 31], "0.0% 3 1970-01-01"),
    ("string", pa.string(), ["a", "bcd", ""], "lengths, mean 1.33333"),
    ("binary", pa.binary(), [b"a", b"bcd", b""], "bytes, mean 1.33333"),
]


@pytest.mark.parametrize(("spark", "arrow", "values", "wanted"), KINDS, ids=[k[0] for k in KINDS])
def test_each_kind_of_column_shows_its_figures(
    spark: str, arrow: pa.DataType, values: list[Any], wanted: str
) -> None:
    table = pa.table({"c": pa.array(values, arrow)})
    document = profile_arrow(table, [("c", spark)]).to_dict()
    shown = " ".join(lines_of(render_columns(document, PLAIN))["c"].split())
    assert wanted in shown


def test_an_estimate_is_marked(document: dict[str, Any]) -> None:
    estimated = {"column_stats.email.num_unique": {"method": "bottom-k", "error": 0.01}}
    lines = lines_of(render_columns({**document, "estimated": estimated}, PLAIN))
    assert "~4" in lines["email"]
    assert "~" not in lines["order_id"]


def test_a_small_share_is_not_shown_as_none(document: dict[str, Any]) -> None:
    stats = {**document["column_stats"], "email": {"kind": "string", "null_fraction": 1e-9}}
    lines = lines_of(render_columns({**document, "column_stats": stats}, PLAIN))
    assert "<0.1%" in lines["email"]


def test_a_profile_of_files() -> None:
    columns = {"same": pa.array([1] * 5), "gone": pa.array([None, None, None, 2.0, 3.0])}
    table = pa.table(columns)
    document = profile_arrow(table, [("same", "bigint"), ("gone", "double")]).to_dict()
    text = render_profile(document, "data/x.parquet", PLAIN)
    lines = lines_of(text)
    assert text.startswith("data/x.parquet\n")
    assert lines["constant"] == "constant     same"
    assert lines["many"] == "many nulls   gone"
    assert "5 in 2 columns" in lines["rows"]


def test_a_report_ends_with_its_result() -> None:
    document = {
        "result": "FAIL",
        "checks": [{"name": "history", "result": "FAIL", "detail": "x" * 500}],
        "files": 12345,
        "warnings": ["w"],
        "errors": ["e1", "e2"],
        "qa_status": {},
    }
    lines = render_validation(document, Style(width=60)).splitlines()
    assert "x" * 500 in lines[1]
    assert lines[2:] == [
        "error: e1",
        "error: e2",
        "warning: w",
        "12,345 files checked, 2 errors, 1 warnings",
        "RESULT: FAIL",
    ]


def test_small_forms() -> None:
    assert short("ab" * 32) == "ab" * 6
    assert (number(None), number(0), number(1234567)) == ("-", "0", "1,234,567")
    assert moment("2025-01-05T14:03:59.000001Z") == "2025-01-05 14:03"
