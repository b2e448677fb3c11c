"""Every single write broken in turn: no manifest or a valid snapshot, and the next write works."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from dbt_snapshot_plugin.model.errors import StoreError
from dbt_snapshot_plugin.ops.validate import validate
from dbt_snapshot_plugin.store.backend import Backend
from dbt_snapshot_plugin.store.local import LocalBackend
from dbt_snapshot_plugin.store.memory import MemoryBackend
from dbt_snapshot_plugin.store.repository import Repository
from tests.factories import ORDERS, STAGING, add_evidence, add_snapshot, fill
from tests.unit.store.faults import FaultStore


def session(backend: Backend) -> None:
    """What a dbt run with QA writes: two datasets, the second pins the first, then a verdict."""
    repo = Repository(backend)
    staging = add_snapshot(repo, STAGING, rows=9)
    orders = add_snapshot(repo, ORDERS, rows=10, parents=[staging])
    add_evidence(repo, orders)


def check(backend: Backend, *, seq_before: int) -> None:
    """Whole or not there; and the store goes on as if nothing had been."""
    repo = Repository(backend)
    seq = repo.history(ORDERS).head_seq()
    assert seq in {seq_before, seq_before + 1}
    if repo.exists:
        assert validate(repo).errors == []
    session(backend)
    assert Repository(backend).history(ORDERS).head_seq() == seq + 1
    assert validate(Repository(backend)).result == "PASS"


@pytest.mark.parametrize("after", [False, True], ids=["lost write", "lost answer"])
@pytest.mark.parametrize("snapshots", [0, 2], ids=["new store", "old store"])
def test_each_write_of_a_capture_broken_in_turn(after: bool, snapshots: int) -> None:
    broken = 0
    for number in itertools.count(1):
        inner = MemoryBackend()
        if snapshots:
            fill(inner, snapshots)
        backend = FaultStore(inner, number, after=after)
        try:
            session(backend)
        except StoreError:
            broken += 1
        if not backend.broke:
            break
        check(inner, seq_before=snapshots)
    assert broken >= 9  # all but the hints, whose loss is no error


SYSTEM_CALLS = ["open", "fsync", "link", "mkdir", "replace", "unlink"]


@pytest.mark.parametrize("call", SYSTEM_CALLS)
def test_each_system_call_of_a_capture_broken_in_turn(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The local backend meets a full disk at every place where it can."""
    for number in itertools.count(1):
        root = tmp_path / f"{call}{number}"
        seen = 0
        real = getattr(os, call)

        def failing(*args: Any, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == number:  # noqa: B023 - used within this turn of the loop only
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args, **options)  # noqa: B023

        with monkeypatch.context() as patched:
            patched.setattr(os, call, failing)
            with contextlib.suppress(StoreError):
                session(LocalBackend(root))
        if seen < number:
            break
        check(LocalBackend(root), seq_before=0)
    assert number > 2
