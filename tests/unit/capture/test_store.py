"""A capture and its store: writes that break, places that can't be written, how often it asks."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt_snapshot_plugin.store.backend import Backend
from tests.unit.capture.world import World
from tests.unit.store.faults import CountingStore, FaultStore

NOBODY = 65534


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_write_that_breaks_leaves_nothing_half_written(tmp_path: Path, after: bool) -> None:
    """Each write of a first build in turn, with a parent and a source."""
    number, captured = 0, []
    while True:
        number += 1
        world = World(tmp_path / f"{number}")
        world.source("events")
        world.model("base", reads=["events"])
        stores: list[FaultStore] = []

        def breaking(inner: Backend, number: int = number, stores: list[FaultStore] = stores):  # type: ignore[no-untyped-def]
            stores.append(FaultStore(inner, number, after=after))
            return stores[-1]

        world.wrap = breaking
        finished = world.build("base")
        world.wrap = None
        if not stores[-1].broke:
            break
        if world.root.exists():
            world.assert_valid()
        assert finished is not None
        captured.append(finished.captured.outcome)
        assert world.build("base") is not None
        assert world.head("base").seq == 1
        assert world.state("base") == ("UNKNOWN", ["unchecked"])
        world.assert_valid()
    assert number > 8
    assert "failed" in captured
    assert finished is not None
    assert finished.captured.outcome == "new"


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that another user can get into; pytest's own is closed."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_a_store_that_can_not_be_written(public: Path) -> None:
    world = World(public)
    world.model("orders")
    world.build("orders")
    world.fill("orders", 4)
    is_root = os.geteuid() == 0  # the modes of files do not bind root
    for path in [world.root, *world.root.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    if is_root:
        os.seteuid(NOBODY)
    try:
        finished = world.build("orders")
    finally:
        if is_root:
            os.seteuid(0)
        for path in [world.root, *world.root.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert finished is not None
    reason = finished.captured.reason or ""
    assert reason.startswith("the store can't be written: Permission denied")
    assert "DBT_SNAPSHOT_ROOT" in reason
    assert world.head("orders").num_rows == 3
    world.assert_valid()


def test_what_a_killed_writer_left_is_swept_by_the_next_run(world: World) -> None:
    world.model("orders")
    world.build("orders")
    left = world.root / "staging" / f"{os.uname().nodename}-999999999~dead"
    left.write_text("half")
    long_ago = time.time() - 3600
    os.utime(left, (long_ago, long_ago))
    world.build("orders")
    assert not left.exists()


def test_how_often_a_capture_asks_its_store(world: World) -> None:
    """What a remote store will have to answer; the first node of a run pays for the store."""
    world.model("first")
    world.model("base")
    world.model("mart", reads=["base"])
    for name in ("first", "base", "mart"):
        world.build(name)
    stores: list[CountingStore] = []

    def counting(inner: Backend) -> Backend:
        stores.append(CountingStore(inner))
        return stores[-1]

    world.wrap = counting
    hook = world.hook()
    costs = {}
    for name in ("first", "base", "mart"):
        before = stores[0].calls.total() if stores else 0
        world.build(name, hook=hook)
        costs[name] = stores[0].calls.total() - before
    assert costs["base"] <= 14
    assert costs["mart"] - costs["base"] <= 12
