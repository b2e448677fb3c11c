"""The history: linear, never rewritten, found at a cost that does not grow with it."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dbt_snapshot_plugin.model.codec import encode
from dbt_snapshot_plugin.model.errors import (
    CorruptRecordError,
    StoreError,
    UnknownReferenceError,
)
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.reference import Selector, parse_reference
from dbt_snapshot_plugin.store import history as history_module
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.history import History
from dbt_snapshot_plugin.store.memory import MemoryBackend
from dbt_snapshot_plugin.store.repository import Repository
from tests.factories import (
    CUSTOMERS,
    ORDERS,
    add_snapshot,
    local_store,
    make_manifest,
    make_profile,
    memory_store,
    profile_bytes,
)
from tests.unit.store.faults import CountingStore, FaultStore

HINT = layout.hint_key(ORDERS)


def selector(text: str) -> Selector:
    return parse_reference(f"x@{text}").selector


def filled(length: int) -> MemoryBackend:
    """A history of that length, written without its profile objects: only the chain matters."""
    backend = MemoryBackend()
    backend._items = dict(filled_items(length))
    return backend


@functools.cache
def filled_items(length: int) -> dict[str, bytes]:
    backend = MemoryBackend()
    for _ in range(length):
        History(backend, ORDERS).append(lambda head: make_manifest(head=head, profile=None))
    return backend._items


def test_an_empty_history_has_no_head() -> None:
    history = History(MemoryBackend(), ORDERS)
    assert history.head_seq() == 0
    assert history.head() is None
    assert list(history.newest_first()) == []


def test_snapshots_are_numbered_from_one_and_chained() -> None:
    history = memory_store(4).history(ORDERS)
    newest = list(history.newest_first())
    assert [m.seq for m in newest] == [4, 3, 2, 1]
    for child, parent in itertools.pairwise(newest):
        assert child.parent_snapshot_id == parent.snapshot_id
        assert child.parent_record_sha256 == parent.record_sha256
    assert newest[-1].parent_snapshot_id is None


def test_the_profile_is_stored_before_its_manifest() -> None:
    backend = CountingStore(MemoryBackend())
    add_snapshot(Repository(backend))
    written = [key for call, key in backend.keys if call in {"put_new", "put"}]
    kinds = [key.split("/")[0] if "/" not in key else key.split("/")[-2] for key in written]
    profile = next(i for i, key in enumerate(written) if key.startswith("objects/"))
    assert profile < kinds.index("snapshots") < written.index(HINT) < kinds.index("build")


def test_a_manifest_without_its_profile_is_not_committed() -> None:
    history = History(MemoryBackend(), ORDERS)
    with pytest.raises(ValueError, match="profile must be stored before"):
        history.append(lambda head: make_manifest(head=head))
    assert history.head() is None


@pytest.mark.parametrize("changes", [{"seq": 3}, {"seq": 1}, {"parent_snapshot_id": None}])
def test_a_manifest_that_does_not_follow_the_head_is_not_committed(
    changes: dict[str, Any],
) -> None:
    history = memory_store(1).history(ORDERS)
    with pytest.raises(ValueError, match="does not follow"):
        history.append(lambda head: make_manifest(head=head, **changes))
    assert history.head_seq() == 1


def test_nothing_to_commit_writes_nothing() -> None:
    repo = memory_store(2)
    before = dict(repo.backend._items)  # type: ignore[attr-defined]
    assert repo.history(ORDERS).append(lambda _: None) is None
    assert repo.backend._items == before  # type: ignore[attr-defined]


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 9, 31, 100])
@pytest.mark.parametrize(
    "hint", [None, b"", b"1", b"7", b"99999999", b"999999999999", b"-1", b"x", b"\xb2", b"3 "]
)
def test_the_head_is_found_whatever_the_hint_says(length: int, hint: bytes | None) -> None:
    backend = filled(length)
    backend.delete(HINT)
    if hint is not None:
        backend.put(HINT, hint)
    assert History(backend, ORDERS).head_seq() == length


def test_a_hint_that_can_not_be_read_is_no_error(tmp_path: Path) -> None:
    repo = local_store(tmp_path)
    hint = tmp_path / HINT
    hint.unlink()
    hint.symlink_to(tmp_path)
    assert repo.history(ORDERS).head_seq() == 3
    assert add_snapshot(repo).seq == 4


def test_finding_the_head_costs_the_same_at_10_and_at_1000() -> None:
    costs = []
    for length in (10, 1000):
        backend = CountingStore(filled(length))
        assert History(backend, ORDERS).head_seq() == length
        costs.append(dict(backend.calls))
    assert costs[0] == costs[1] == {"get": 1, "exists": 2}


def test_without_a_hint_the_cost_grows_with_the_logarithm() -> None:
    inner = filled(1000)
    inner.delete(HINT)
    backend = CountingStore(inner)
    assert History(backend, ORDERS).head_seq() == 1000
    assert backend.calls["exists"] <= 22
    assert backend.calls["names"] == 0


class Rival(CountingStore):
    """Another writer that commits just before each of our first `wins` commits."""

    def __init__(self, inner: MemoryBackend, wins: int) -> None:
        super().__init__(inner)
        self.wins = wins

    def put_new(self, key: str, data: bytes) -> bool:
        if "/snapshots/" in key and self.wins:
            self.wins -= 1
            add_snapshot(Repository(self.inner), rows=20 + self.wins, build=False)
        return super().put_new(key, data)


def test_who_loses_the_race_follows_the_winner() -> None:
    backend = Rival(MemoryBackend(), wins=3)
    manifest = add_snapshot(Repository(backend), build=False)
    history = History(backend.inner, ORDERS)
    assert manifest.seq == 4
    assert history.head() == manifest
    assert manifest.parent_record_sha256 == history.get(3).record_sha256


def test_a_change_that_the_winner_brought_in_is_a_no_op() -> None:
    backend = Rival(MemoryBackend(), wins=1)
    profile = make_profile(20)

    def make(head: Manifest | None) -> Manifest | None:
        draft = make_manifest(head=head, data=profile)
        return None if head and head.metadata_sha == draft.metadata_sha else draft

    repo = Repository(backend)
    repo.objects.put(profile_bytes(profile))
    assert repo.history(ORDERS).append(make) is None
    assert History(backend.inner, ORDERS).head_seq() == 1


def test_a_lost_answer_of_our_own_commit_is_success() -> None:
    """A client below us may try again after a lost answer and find its own write."""

    class Forgetful(CountingStore):
        def put_new(self, key: str, data: bytes) -> bool:
            super().put_new(key, data)
            return False

    backend = Forgetful(MemoryBackend())
    manifest = add_snapshot(Repository(backend), build=False)
    assert manifest.seq == 1
    assert History(backend.inner, ORDERS).head() == manifest
    assert backend.calls["put_new"] == 3  # store.json, the profile, the manifest once


def test_a_writer_that_always_loses_gives_up_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "RETRY_SECONDS", 0.05)
    backend = Rival(MemoryBackend(), wins=10_000)
    with pytest.raises(StoreError, match="other writers kept winning") as caught:
        add_snapshot(Repository(backend), build=False)
    assert caught.value.where == str(ORDERS)
    assert "dbt-snapshot capture" in (caught.value.next_step or "")


def test_the_commit_stands_even_if_the_hint_can_not_be_written() -> None:
    backend = FaultStore(MemoryBackend(), 4, after=False)  # store.json, profile, manifest, hint
    manifest = add_snapshot(Repository(backend), build=False)
    assert backend.writes[-1] == HINT
    assert History(backend.inner, ORDERS).head() == manifest


def test_nothing_is_appended_to_a_damaged_head() -> None:
    repo = memory_store(2)
    key = layout.snapshot_key(ORDERS, 2)
    repo.backend.put(key, (repo.backend.get(key) or b"").replace(b'"ann"', b'"bob"'))
    with pytest.raises(CorruptRecordError):
        add_snapshot(repo)
    assert repo.history(ORDERS).head_seq() == 2


@pytest.mark.parametrize(
    "changes", [{"env": "prod"}, {"unique_id": CUSTOMERS.unique_id}, {"seq": 2}]
)
def test_a_manifest_in_the_wrong_place_is_refused(changes: dict[str, Any]) -> None:
    backend = MemoryBackend()
    backend.put(layout.snapshot_key(ORDERS, 1), encode(make_manifest(**changes)))
    with pytest.raises(CorruptRecordError, match="this manifest belongs to"):
        History(backend, ORDERS).get(1)


def test_a_number_that_is_not_there_says_where_to_look() -> None:
    with pytest.raises(UnknownReferenceError, match="no snapshot number 9") as caught:
        memory_store(1).history(ORDERS).get(9)
    assert "dbt-snapshot list" in (caught.value.next_step or "")


@pytest.fixture(scope="module")
def history() -> History:
    """Data A, B, A again: the first and the last are the same version."""
    repo = Repository(MemoryBackend())
    for rows in (3, 4, 3):
        add_snapshot(repo, rows=rows)
    return repo.history(ORDERS)


class TestSelect:
    """Which snapshot a selector means."""

    @pytest.mark.parametrize(
        ("text", "seq"), [("HEAD", 3), ("HEAD~0", 3), ("HEAD~2", 1), ("1", 1), ("003", 3)]
    )
    def test_by_place(self, history: History, text: str, seq: int) -> None:
        assert history.select(selector(text)).seq == seq

    def test_by_uuid(self, history: History) -> None:
        assert history.select(selector(history.get(1).snapshot_id)).seq == 1

    @pytest.mark.parametrize("length", [7, 12, 64])
    def test_a_sha_means_its_newest_entry(self, history: History, length: int) -> None:
        first, last = history.get(1), history.get(3)
        assert first.metadata_sha == last.metadata_sha
        assert history.select(selector(first.metadata_sha[:length])).seq == 3

    @pytest.mark.parametrize(
        "text", ["HEAD~3", "0", "4", "99999999", "f" * 64, "audited", "LIVE", "1" * 36]
    )
    def test_what_is_not_there(self, history: History, text: str) -> None:
        with pytest.raises(UnknownReferenceError) as caught:
            history.select(selector(text))
        assert f"@{text} " in caught.value.what
        assert "dbt-snapshot list model.shop.fct_orders" in (caught.value.next_step or "")

    def test_an_empty_history_says_so(self) -> None:
        with pytest.raises(UnknownReferenceError, match="no snapshot yet"):
            History(MemoryBackend(), ORDERS).select(selector("HEAD"))

    def test_a_short_sha_of_two_versions_is_ambiguous(self) -> None:
        backend = MemoryBackend()
        history = History(backend, ORDERS)
        shas = ["abcdef1" + "0" * 57, "abcdef1" + "1" * 57, "abcdef2" + "0" * 57]
        for sha in shas:
            history.append(lambda head, sha=sha: made(head, sha))  # type: ignore[misc]
        with pytest.raises(UnknownReferenceError, match="ambiguous") as caught:
            history.select(selector("abcdef1"))
        assert shas[0][:16] in caught.value.what
        assert shas[1][:16] in caught.value.what
        assert shas[2][:16] not in caught.value.what
        assert history.select(selector("abcdef2")).seq == 3

    def test_digits_can_be_a_sha(self) -> None:
        history = History(MemoryBackend(), ORDERS)
        history.append(lambda head: made(head, "1234567" + "a" * 57))
        assert history.select(selector("1234567")).seq == 1


def made(head: Manifest | None, sha: str) -> Manifest:
    manifest = make_manifest(head=head, profile=None)
    return msgspec.structs.replace(manifest, metadata_sha=sha)
