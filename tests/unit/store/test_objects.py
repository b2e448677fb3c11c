"""Objects: stored once by their sha256, verified when they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt_snapshot_plugin.model.codec import sha256_hex
from dbt_snapshot_plugin.model.errors import CorruptRecordError
from dbt_snapshot_plugin.model.manifest import ObjectRef
from dbt_snapshot_plugin.store.layout import object_key
from dbt_snapshot_plugin.store.local import LocalBackend
from dbt_snapshot_plugin.store.memory import MemoryBackend
from dbt_snapshot_plugin.store.objects import Objects

DATA = b"some bytes"
REF = ObjectRef(sha256=sha256_hex(DATA), bytes=len(DATA))


def test_an_object_is_named_by_its_content_and_stored_once() -> None:
    backend = MemoryBackend()
    objects = Objects(backend)
    assert objects.put(DATA) == objects.put(DATA) == REF
    assert list(backend.names(f"objects/{REF.sha256[:2]}")) == [REF.sha256]
    assert objects.get(REF) == DATA


@pytest.mark.parametrize("damage", [b"other byte", b"", b"some bytes and more"])
def test_a_damaged_object_is_not_handed_out(damage: bytes) -> None:
    backend = MemoryBackend()
    backend.put(object_key(REF.sha256), damage)
    with pytest.raises(CorruptRecordError, match="do not match") as caught:
        Objects(backend).get(REF)
    assert caught.value.where == f"memory:/{object_key(REF.sha256)}"


def test_a_wrong_length_is_seen() -> None:
    objects = Objects(MemoryBackend())
    objects.put(DATA)
    with pytest.raises(CorruptRecordError, match="do not match"):
        objects.get(ObjectRef(sha256=REF.sha256, bytes=1))


def test_a_missing_object_is_named() -> None:
    with pytest.raises(CorruptRecordError, match="missing"):
        Objects(MemoryBackend()).get(REF)


def test_a_damaged_copy_is_replaced_when_the_right_bytes_come_again(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    objects = Objects(backend)
    objects.put(DATA)
    Path(tmp_path, object_key(REF.sha256)).write_bytes(b"rotten")
    assert objects.put(DATA) == REF
    assert objects.get(REF) == DATA
