"""What a store needs of the place it lies in: object-store semantics, nothing more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class Backend(Protocol):
    """Keys are relative, '/'-separated and already encoded by `layout`."""

    @property
    def root(self) -> str:
        """For messages: the path or URL."""

    def put_new(self, key: str, data: bytes) -> bool:
        """Writes durably unless the key exists; False means that it exists and stays as it is."""

    def put(self, key: str, data: bytes) -> None:
        """Overwrites; only for what is untrusted, such as a hint."""

    def get(self, key: str) -> bytes | None:
        """The bytes, or None if there is no such key."""

    def exists(self, key: str) -> bool: ...

    def names(self, prefix: str) -> Iterator[str]:
        """The sorted names directly under a prefix."""

    def delete(self, key: str) -> None:
        """Removes the key; a missing key is no error."""
