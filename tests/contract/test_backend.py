"""What every backend of the store must do; a new one joins by one line in `make_backend`."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dbt_snapshot_plugin.store.backend import Backend
from dbt_snapshot_plugin.store.local import LocalBackend
from dbt_snapshot_plugin.store.memory import MemoryBackend

KEY = "datasets/dev/model/snapshots/00000001.json"


@pytest.fixture(params=["memory", "local"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    return make_backend(request.param, tmp_path / "store")


def make_backend(kind: str, root: Path) -> Backend:
    return MemoryBackend() if kind == "memory" else LocalBackend(root)


def test_an_empty_store_has_nothing(backend: Backend) -> None:
    assert backend.get(KEY) is None
    assert not backend.exists(KEY)
    assert list(backend.names("")) == []
    assert list(backend.names("datasets/dev")) == []


def test_what_is_put_is_there(backend: Backend) -> None:
    assert backend.put_new(KEY, b"one")
    assert backend.get(KEY) == b"one"
    assert backend.exists(KEY)


@pytest.mark.parametrize("data", [b"", b"\0", b"x" * 3_000_000], ids=["nothing", "zero", "3 MB"])
def test_any_bytes_come_back(backend: Backend, data: bytes) -> None:
    assert backend.put_new(KEY, data)
    assert backend.get(KEY) == data


def test_put_new_refuses_a_key_that_exists(backend: Backend) -> None:
    assert backend.put_new(KEY, b"one")
    assert not backend.put_new(KEY, b"two")
    assert not backend.put_new(KEY, b"one")
    assert backend.get(KEY) == b"one"


def test_put_overwrites(backend: Backend) -> None:
    backend.put("hint", b"1")
    backend.put("hint", b"22")
    assert backend.get("hint") == b"22"


def test_a_deleted_key_is_gone_and_free(backend: Backend) -> None:
    backend.put_new(KEY, b"one")
    backend.delete(KEY)
    assert backend.get(KEY) is None
    assert not backend.exists(KEY)
    assert backend.put_new(KEY, b"two")


def test_deleting_what_is_not_there_is_no_error(backend: Backend) -> None:
    backend.delete(KEY)
    assert not backend.exists(KEY)


def test_names_are_sorted_and_go_one_level_deep(backend: Backend) -> None:
    for key in ("a/c/2", "a/b", "a/c/1", "ab/x", "z"):
        backend.put_new(key, b"")
    assert list(backend.names("a")) == ["b", "c"]
    assert list(backend.names("a/c")) == ["1", "2"]
    assert {"a", "ab", "z"} <= set(backend.names(""))


def test_a_prefix_is_no_key(backend: Backend) -> None:
    backend.put_new(KEY, b"one")
    assert list(backend.names(KEY)) == []


def test_keys_that_differ_in_percent_signs_are_apart(backend: Backend) -> None:
    backend.put_new("a%2e", b"1")
    backend.put_new("a%2f", b"2")
    assert (backend.get("a%2e"), backend.get("a%2f")) == (b"1", b"2")


def test_of_many_writers_one_wins(backend: Backend) -> None:
    start = threading.Barrier(8)
    won: list[int] = []

    def write(number: int) -> None:
        start.wait()
        if backend.put_new(KEY, str(number).encode()):
            won.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert backend.get(KEY) == str(won[0]).encode()


def test_a_reader_sees_all_or_nothing(backend: Backend) -> None:
    data = b"x" * 1_000_000
    seen: set[int] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found = backend.get(KEY)
            seen.add(-1 if found is None else len(found))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        backend.put_new(KEY, data)
        backend.delete(KEY)
    done.set()
    reader.join()
    assert seen <= {-1, len(data)}


def test_the_root_is_named_for_messages(backend: Backend) -> None:
    assert backend.root
