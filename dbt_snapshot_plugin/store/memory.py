"""A backend in memory, for tests and trials."""

from __future__ import annotations

import threading
from collections.abc import Iterator


class MemoryBackend:
    root = "memory:"

    def __init__(self) -> None:
        self._items: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put_new(self, key: str, data: bytes) -> bool:
        with self._lock:
            if key in self._items:
                return False
            self._items[key] = bytes(data)
            return True

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            self._items[key] = bytes(data)

    def get(self, key: str) -> bytes | None:
        return self._items.get(key)

    def exists(self, key: str) -> bool:
        return key in self._items

    def names(self, prefix: str) -> Iterator[str]:
        start = prefix + "/" if prefix else ""
        with self._lock:
            found = {k[len(start) :].split("/", 1)[0] for k in self._items if k.startswith(start)}
        yield from sorted(found)

    def delete(self, key: str) -> None:
        with self._lock:
            self._items.pop(key, None)
