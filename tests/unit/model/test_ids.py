"""Ids sort by time, and times have one form."""

from __future__ import annotations

import datetime as dt
import time
import uuid

import pytest

from dbt_snapshot_plugin.model.ids import UTC, format_time, new_id, now, parse_time


def test_an_id_is_a_uuid_of_version_7() -> None:
    made = uuid.UUID(new_id())
    assert made.version == 7
    assert made.variant == uuid.RFC_4122


def test_ids_are_unique() -> None:
    assert len({new_id() for _ in range(10_000)}) == 10_000


def test_ids_sort_by_the_time_they_were_made() -> None:
    made = []
    for _ in range(20):
        made.append(new_id())
        time.sleep(0.002)
    assert made == sorted(made)


def test_an_id_holds_its_time() -> None:
    before = int(now().timestamp() * 1000)
    milliseconds = uuid.UUID(new_id()).int >> 80
    assert before <= milliseconds <= int(now().timestamp() * 1000)


def test_a_time_has_one_form_and_one_length() -> None:
    whole = dt.datetime(2025, 1, 5, 14, 3, tzinfo=UTC)
    assert format_time(whole) == "2025-01-05T14:03:00.000000Z"
    assert len(format_time(whole.replace(microsecond=7))) == len(format_time(whole))


def test_a_time_of_another_zone_is_written_as_utc() -> None:
    east = dt.timezone(dt.timedelta(hours=5, minutes=45))
    assert format_time(dt.datetime(2025, 1, 5, 0, 0, tzinfo=east)) == "2025-01-04T18:15:00.000000Z"


@pytest.mark.parametrize(
    "text",
    [
        "2025-01-05T14:03:02.000001Z",
        "2025-01-05T14:03:02.000001+00:00",
        "2025-01-05T16:03:02.000001+02:00",
        "2025-01-05 14:03:02.000001",
        "20250105T140302.000001Z",
    ],
)
def test_times_are_read_in_these_forms(text: str) -> None:
    assert parse_time(text) == dt.datetime(2025, 1, 5, 14, 3, 2, 1, tzinfo=UTC)


def test_what_was_written_is_read_back() -> None:
    moment = now()
    assert parse_time(format_time(moment)) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "2025-02-30T00:00:00Z", "x" * 9999])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_time(text)
