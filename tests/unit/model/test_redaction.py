"""Redaction: no value of a marked column is left anywhere in the profile."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pytest

from dbt_snapshot_plugin.model.redaction import KEPT, REASON, redact_profile
from spark_profiler import model as profiles
from spark_profiler import profile_arrow
from spark_profiler.model import Profile

SECRET_NUMBER = 987654
COLUMNS: dict[str, tuple[str, pa.DataType, list[Any]]] = {
    "number": ("bigint", pa.int64(), [SECRET_NUMBER, SECRET_NUMBER, None]),
    "text": ("string", pa.string(), ["ann.secret@example.org", "b" * 77, None]),
    "born": ("date", pa.date32(), [6000, 6001, None]),
    "flag": ("boolean", pa.bool_(), [True, True, None]),
    "blob": ("binary", pa.binary(), [b"0123456789abcdef0", b"x", None]),
}


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    table = pa.table({name: pa.array(rows, kind) for name, (_, kind, rows) in COLUMNS.items()})
    schema = [(name, spark) for name, (spark, _, _) in COLUMNS.items()]
    return profile_arrow(table, schema).to_dict()


@pytest.mark.parametrize("column", COLUMNS)
def test_only_counts_are_left(plain: dict[str, Any], column: str) -> None:
    redacted = redact_profile(plain, [column])
    left = redacted["column_stats"][column]
    assert left == {k: v for k, v in plain["column_stats"][column].items() if k in KEPT}
    assert {"null_count", "num_unique", "null_fraction"} <= set(left)
    assert not {"min", "max", "mean", "sum", "std"} & set(left)
    assert redacted["not_computed"][f"column_stats.{column}"] == REASON


def test_no_value_is_left(plain: dict[str, Any]) -> None:
    text = str(redact_profile(plain, list(COLUMNS))["column_stats"])
    for secret in (str(SECRET_NUMBER), "77", "1986"):
        assert secret in str(plain["column_stats"])
        assert secret not in text


def test_other_columns_and_the_data_sha_stay(plain: dict[str, Any]) -> None:
    redacted = redact_profile(plain, ["text"])
    for name in set(COLUMNS) - {"text"}:
        assert redacted["column_stats"][name] == plain["column_stats"][name]
    for field in ("data_sha", "num_rows", "schema_hash", "row_minhash"):
        assert redacted[field] == plain[field]


def test_a_constant_column_does_not_show_that_it_is_one() -> None:
    table = pa.table({"same": pa.array([1, 1])})
    profile = profile_arrow(table, [("same", "bigint")]).to_dict()
    assert profile["constant_columns"] == ["same"]
    assert redact_profile(profile, ["same"])["constant_columns"] == []


def test_a_redacted_profile_is_still_a_profile(plain: dict[str, Any]) -> None:
    redacted = redact_profile(plain, list(COLUMNS))
    assert Profile.from_dict(redacted).to_dict() == redacted


def test_redacting_twice_changes_nothing(plain: dict[str, Any]) -> None:
    once = redact_profile(plain, ["text", "born"])
    assert redact_profile(once, ["text", "born"]) == once


def test_nothing_to_redact_changes_nothing(plain: dict[str, Any]) -> None:
    assert redact_profile(plain, []) == plain
    assert redact_profile(plain, ["not_a_column"])["column_stats"] == plain["column_stats"]


def test_every_figure_that_is_kept_is_a_count_or_a_share() -> None:
    """A figure that is added to the profiler must be looked at before it is kept."""
    kinds = [getattr(profiles, f"{kind}Stats") for kind in ("Numeric", "String", "Datetime")]
    kinds += [getattr(profiles, f"{kind}Stats") for kind in ("Boolean", "Binary", "Nested")]
    known = {field.name for kind in kinds for field in msgspec.structs.fields(kind)} | {"kind"}
    assert known >= KEPT
    assert all(
        name == "kind" or name.endswith(("_count", "_fraction", "_unique")) for name in KEPT
    )
