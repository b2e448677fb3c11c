"""The records: what is absent stays absent, and what is read back is read strictly."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from spark_profiler import Profile, ProfileOptions, ProfilerError, profile_arrow
from tests.spark_profiler.tables import QUICK, Table, batch, tables

TABLE = pa.table({"n": [1, 2, None], "d": [0.5, float("nan"), None], "s": ["a", "", None]})


@QUICK
@given(tables())
def test_a_profile_is_what_its_json_says(table: Table) -> None:
    found = profile_arrow(batch(table.columns, table.arrays), table.columns)
    assert Profile.from_json(found.to_json()) == found
    assert Profile.from_dict(found.to_dict()) == found
    assert json.loads(found.to_json()) == found.to_dict()


def test_the_json_has_sorted_keys_and_no_numbers_that_json_lacks() -> None:
    raw = profile_arrow(TABLE, TABLE.schema).to_json()

    def refuse(name: str) -> Any:
        raise AssertionError(name)

    plain = json.loads(raw, parse_constant=refuse)
    assert json.dumps(plain, sort_keys=True, separators=(",", ":")).encode() == raw


def test_what_is_not_there_is_absent_not_null() -> None:
    raw = profile_arrow(TABLE.slice(0, 0), TABLE.schema).to_json()
    assert b"null_fraction" not in raw
    assert b":null" not in raw


def spoilt(**changes: Any) -> dict[str, Any]:
    return {**profile_arrow(TABLE, TABLE.schema).to_dict(), **changes}


@pytest.mark.parametrize(
    "plain",
    [
        spoilt(surprise=1),
        spoilt(num_rows="3"),
        spoilt(depth="sampled"),
        spoilt(column_stats={"n": {"kind": "other", "null_count": 0, "num_unique": 0}}),
        spoilt(column_stats={"n": {"null_count": 0, "num_unique": 0}}),
        {"num_rows": 3},
    ],
)
def test_what_is_no_profile_is_refused(plain: dict[str, Any]) -> None:
    with pytest.raises(ProfilerError, match=r"this is no profile of format 1\.0"):
        Profile.from_dict(plain)
    with pytest.raises(ProfilerError, match=r"this is no profile of format 1\.0"):
        Profile.from_json(json.dumps(plain))


def test_broken_json_is_refused() -> None:
    with pytest.raises(ProfilerError, match="Profile the table again"):
        Profile.from_json(b"{")


def test_records_do_not_change() -> None:
    found = profile_arrow(TABLE, TABLE.schema)
    with pytest.raises(AttributeError):
        found.num_rows = 5  # type: ignore[misc]
    assert ProfileOptions() == ProfileOptions(high_null=0.5, volatile=())
