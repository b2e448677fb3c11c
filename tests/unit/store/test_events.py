"""Events: written once, newest first, refused in the wrong place."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_snapshot_plugin.model.codec import encode, sign
from dbt_snapshot_plugin.model.errors import CorruptRecordError, StoreError
from dbt_snapshot_plugin.model.events import Event
from dbt_snapshot_plugin.model.ids import new_id
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.events import Events
from dbt_snapshot_plugin.store.memory import MemoryBackend
from tests.factories import (
    CUSTOMERS,
    ORDERS,
    add_build,
    clock,
    make_build,
    make_evidence,
    make_manifest,
    memory_store,
)

SHA = "ab" * 32


@pytest.fixture
def events() -> Events:
    return Events(MemoryBackend(), ORDERS)


def test_a_build_is_put_together_from_its_two_events(events: Events) -> None:
    started, ended = make_build(make_manifest())
    events.write(started)
    assert [b.ended for b in events.builds()] == [None]
    events.write(ended)
    (build,) = events.builds()
    assert (build.started, build.ended) == (started, ended)


def test_builds_come_newest_first_whatever_the_order_they_came_in(events: Events) -> None:
    for minute in (5, 1, 9, 3):
        for body in make_build(minute=minute):
            events.write(body)
    assert [b.started.started_at for b in events.builds()] == [clock(m) for m in (9, 5, 3, 1)]


def test_builds_that_overlap_keep_their_own_ends(events: Events) -> None:
    first, second = make_build(minute=1), make_build(minute=1)
    for body in (first[0], second[0], second[1]):
        events.write(body)
    ends = {b.started.build_id: b.ended for b in events.builds()}
    assert ends == {first[0].build_id: None, second[0].build_id: second[1]}


def test_a_node_that_dbt_skipped_is_not_the_last_build(events: Events) -> None:
    touched = make_build(make_manifest(), minute=1)
    skipped = make_build(minute=2, status="skipped", outcome="skipped")
    for body in (*touched, *skipped):
        events.write(body)
    build = events.last_build()
    assert build is not None
    assert build.started == touched[0]


def test_the_same_event_is_written_once(events: Events) -> None:
    evidence = make_evidence(SHA)
    assert events.write(evidence)
    assert not events.write(evidence)
    assert events.evidence() == [evidence]


def test_evidence_without_a_time_is_kept(events: Events) -> None:
    evidence = make_evidence(SHA, observed_at=None)
    assert events.write(evidence)
    assert events.evidence() == [evidence]


def test_a_hint_of_the_page_is_enough_for_the_last_build() -> None:
    repo = memory_store(3)
    keys = list(repo.events(ORDERS).keys("build"))
    assert keys == sorted(keys)
    body = repo.events(ORDERS).read(keys[0]).body
    assert getattr(body, "seq", None) == 3


@pytest.mark.parametrize(
    "fields",
    [{"started_at": "soon"}, {"started_at": "2025-02-30T00:00:00.000000Z"}],
)
def test_a_build_without_a_time_is_not_made(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"soon|day"):
        make_build(**fields)


@pytest.mark.parametrize("fields", [{"observed_at": "soon"}, {"ingested_at": "soon"}])
def test_evidence_with_a_time_that_is_none_is_not_stored(
    events: Events, fields: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="soon"):
        events.write(make_evidence(SHA, **fields))
    assert events.evidence() == []


def test_what_could_not_be_read_again_is_not_stored(events: Events) -> None:
    _, ended = make_build(make_manifest(), metadata={"x": float("nan")})
    with pytest.raises(StoreError, match="can't be stored"):
        events.write(ended)


def event(**fields: Any) -> Event:
    values: dict[str, Any] = {
        "event_id": new_id(),
        "env": ORDERS.env,
        "unique_id": ORDERS.unique_id,
        "written_at": clock(0),
        "body": make_build(minute=1)[0],
    }
    return sign(Event(**{**values, **fields}))


@pytest.mark.parametrize("fields", [{"env": "prod"}, {"unique_id": CUSTOMERS.unique_id}])
def test_an_event_of_another_dataset_is_refused(events: Events, fields: dict[str, Any]) -> None:
    found = event(**fields)
    name = f"{getattr(found.body, 'build_id', '')}-started"
    key = layout.event_key(ORDERS, "build", 1_736_085_660_000_000, name)
    backend = events._backend
    backend.put(key, encode(event(body=found.body)))
    assert events.read(key).body == found.body
    backend.put(key, encode(found))
    with pytest.raises(CorruptRecordError, match="wrong place") as caught:
        events.read(key)
    assert caught.value.where == f"memory:/{key}"


def test_an_event_under_another_name_is_refused(events: Events) -> None:
    """A copy under a later key would pass for a newer event."""
    key = layout.event_key(ORDERS, "build", 0, f"{new_id()}-started")
    events._backend.put(key, encode(event()))
    with pytest.raises(CorruptRecordError, match="wrong place"):
        list(events.builds())


def test_a_damaged_event_is_not_passed_over() -> None:
    repo = memory_store(1)
    key = next(iter(repo.events(ORDERS).keys("build")))
    data = repo.backend.get(key) or b""
    repo.backend.put(key, data.replace(b"success", b"skipped"))
    with pytest.raises(CorruptRecordError) as caught:
        repo.events(ORDERS).last_build()
    assert caught.value.where == f"memory:/{key}"


def test_a_build_that_still_runs_is_the_last_one() -> None:
    repo = memory_store(1)
    add_build(repo, ORDERS, minute=99, end=False)
    build = repo.events(ORDERS).last_build()
    assert build is not None
    assert build.ended is None
    assert build.data_since is None
