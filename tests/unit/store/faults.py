"""Backends around another one: one breaks a write, one counts what is asked of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dbt_snapshot_plugin.model.errors import StoreError
from dbt_snapshot_plugin.store.backend import Backend


class FaultStore:
    """Breaks the write with this number, counted from 1: before it took effect, or after.

    After means that the write came through and only its answer was lost.
    """

    def __init__(self, inner: Backend, number: int, *, after: bool) -> None:
        self.inner = inner
        self.number = number
        self.after = after
        self.writes: list[str] = []

    @property
    def root(self) -> str:
        return self.inner.root

    @property
    def broke(self) -> bool:
        return len(self.writes) >= self.number

    def _write(self, key: str) -> bool:
        """Whether this is the one to break; raises if it breaks before."""
        self.writes.append(key)
        mine = len(self.writes) == self.number
        if mine and not self.after:
            raise StoreError("the disk is gone", where=key)
        return mine

    def put_new(self, key: str, data: bytes) -> bool:
        breaks = self._write(key)
        written = self.inner.put_new(key, data)
        if breaks:
            raise StoreError("the answer is lost", where=key)
        return written

    def put(self, key: str, data: bytes) -> None:
        breaks = self._write(key)
        self.inner.put(key, data)
        if breaks:
            raise StoreError("the answer is lost", where=key)

    def delete(self, key: str) -> None:
        breaks = self._write(key)
        self.inner.delete(key)
        if breaks:
            raise StoreError("the answer is lost", where=key)

    def get(self, key: str) -> bytes | None:
        return self.inner.get(key)

    def exists(self, key: str) -> bool:
        return self.inner.exists(key)

    def names(self, prefix: str) -> Iterator[str]:
        return self.inner.names(prefix)


class CountingStore:
    """Counts the calls and keeps the keys, in order."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.calls: Counter[str] = Counter()
        self.keys: list[tuple[str, str]] = []

    @property
    def root(self) -> str:
        return self.inner.root

    def _note(self, call: str, key: str) -> None:
        self.calls[call] += 1
        self.keys.append((call, key))

    def reset(self) -> None:
        self.calls.clear()
        self.keys.clear()

    def put_new(self, key: str, data: bytes) -> bool:
        self._note("put_new", key)
        return self.inner.put_new(key, data)

    def put(self, key: str, data: bytes) -> None:
        self._note("put", key)
        self.inner.put(key, data)

    def delete(self, key: str) -> None:
        self._note("delete", key)
        self.inner.delete(key)

    def get(self, key: str) -> bytes | None:
        self._note("get", key)
        return self.inner.get(key)

    def exists(self, key: str) -> bool:
        self._note("exists", key)
        return self.inner.exists(key)

    def names(self, prefix: str) -> Iterator[str]:
        self._note("names", prefix)
        return self.inner.names(prefix)
