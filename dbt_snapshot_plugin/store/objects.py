"""Content-addressed objects: stored once, verified whenever they are read."""

from __future__ import annotations

from dbt_snapshot_plugin.model.codec import sha256_hex
from dbt_snapshot_plugin.model.errors import CorruptRecordError
from dbt_snapshot_plugin.model.manifest import ObjectRef
from dbt_snapshot_plugin.store.backend import Backend
from dbt_snapshot_plugin.store.layout import object_key


class Objects:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def put(self, data: bytes) -> ObjectRef:
        """Stores the bytes once. A damaged copy is replaced: the right bytes are known here, and a
        new snapshot must not rest on wrong ones."""
        sha = sha256_hex(data)
        key = object_key(sha)
        if not self._backend.put_new(key, data) and self._backend.get(key) != data:
            self._backend.put(key, data)
        return ObjectRef(sha256=sha, bytes=len(data))

    def get(self, ref: ObjectRef) -> bytes:
        key = object_key(ref.sha256)
        data = self._backend.get(key)
        where = f"{self._backend.root}/{key}"
        if data is None:
            raise CorruptRecordError(
                "an object of the store is missing",
                where=where,
                next_step="restore it from a backup of the store",
            )
        if len(data) != ref.bytes or sha256_hex(data) != ref.sha256:
            raise CorruptRecordError(
                "an object's bytes do not match its sha256 and length",
                where=where,
                next_step="restore it from a backup of the store",
            )
        return data
