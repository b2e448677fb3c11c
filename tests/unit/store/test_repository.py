"""The store as a whole: its format, its root, its datasets."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex
from dbt_snapshot_plugin.model.errors import (
    CorruptRecordError,
    StoreError,
    UnknownFormatError,
    UnknownReferenceError,
)
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.store.memory import MemoryBackend
from dbt_snapshot_plugin.store.repository import Repository, find_root, open_repository
from tests.factories import CUSTOMERS, ORDERS, add_build, local_store, memory_store, shop_store


def test_a_new_store_says_its_format(tmp_path: Path) -> None:
    repo = open_repository(tmp_path / "store")
    assert list(repo.backend.names("")) == []
    repo.prepare()
    assert repo.exists
    document = json.loads((tmp_path / "store/store.json").read_bytes())
    assert (document["format_version"], document["product"]) == ("1.0", "dbt-snapshot")
    assert open_repository(tmp_path / "store").exists


def test_preparing_twice_changes_nothing(tmp_path: Path) -> None:
    repo = open_repository(tmp_path)
    repo.prepare()
    before = (tmp_path / "store.json").stat()
    repo.prepare()
    open_repository(tmp_path).prepare()
    assert (tmp_path / "store.json").stat() == before


def test_reading_makes_no_store(tmp_path: Path) -> None:
    repo = open_repository(tmp_path / "store")
    assert repo.datasets() == []
    assert repo.history(ORDERS).head() is None
    with pytest.raises(StoreError, match="no snapshot store") as caught:
        repo.require()
    assert caught.value.where == str(tmp_path / "store")
    assert "dbt run" in (caught.value.next_step or "")
    assert not (tmp_path / "store").exists()


def with_format(version: str) -> MemoryBackend:
    plain = {"format_version": version, "product": "dbt-snapshot", "later": True}
    backend = MemoryBackend()
    checksum = sha256_hex(canonical_json(plain))
    backend.put("store.json", canonical_json({**plain, "record_sha256": checksum}))
    return backend


@pytest.mark.parametrize("version", ["2.0", "0.1", "1.9"])
def test_a_store_of_an_unknown_format_is_neither_read_nor_written(version: str) -> None:
    backend = with_format(version)
    for act in (Repository(backend).require, Repository(backend).prepare):
        with pytest.raises(UnknownFormatError, match=f"format {version} is not known") as caught:
            act()
        assert caught.value.next_step == "upgrade dbt-snapshot-plugin"
    assert list(backend.names("")) == ["store.json"]


@pytest.mark.parametrize("data", [b"", b"{}", b'{"format_version":"1.0"}', b"[]", b"\xff"])
def test_a_damaged_store_json_is_neither_read_nor_written(data: bytes) -> None:
    backend = MemoryBackend()
    backend.put("store.json", data)
    for act in (Repository(backend).require, Repository(backend).prepare):
        with pytest.raises(CorruptRecordError) as caught:
            act()
        assert caught.value.where == "memory:/store.json"


def test_datasets_are_sorted_and_those_without_a_snapshot_are_there() -> None:
    repo = shop_store(MemoryBackend())
    built = Dataset("dev.shop", "model.shop.new")
    add_build(repo, built, minute=0)
    names = [str(d) for d in repo.datasets()]
    assert names == sorted(names)
    assert built in repo.datasets()
    assert len(names) == 4


def test_what_is_no_dataset_is_named(tmp_path: Path) -> None:
    repo = local_store(tmp_path)
    (tmp_path / "datasets/.DS_Store").write_bytes(b"")
    (tmp_path / "datasets/dev%2eshop/Thumbs.db").write_bytes(b"")
    assert repo.datasets() == [ORDERS]
    assert repo.foreign() == ["datasets/.DS_Store", "datasets/dev%2eshop/Thumbs.db"]


def test_a_reference_leads_to_its_snapshot() -> None:
    repo = shop_store(MemoryBackend())
    assert repo.resolve("fct_orders").seq == 3
    assert repo.resolve("dev/dim_customers@1").unique_id == CUSTOMERS.unique_id
    with pytest.raises(UnknownReferenceError, match="no dataset 'nope'"):
        repo.resolve("nope")


def test_preparing_sweeps_what_killed_writers_left(tmp_path: Path) -> None:
    local_store(tmp_path)
    left = tmp_path / "staging" / "elsewhere-1~0"
    left.write_bytes(b"half")
    os.utime(left, (time.time() - 100_000,) * 2)
    open_repository(tmp_path).require()
    assert left.exists()
    open_repository(tmp_path).prepare()
    assert not left.exists()


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(b"")
    with pytest.raises(StoreError, match="Not a directory") as caught:
        open_repository(tmp_path / "store")
    assert caught.value.where == str(tmp_path / "store")
    assert "DBT_SNAPSHOT_ROOT" in (caught.value.next_step or "")


@pytest.mark.parametrize("name", ["a\0b", "x" * 300])
def test_a_root_that_can_be_no_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="can't be read"):
        open_repository(tmp_path / name)


def test_where_the_root_is_looked_for() -> None:
    base = Path("/project")
    environ = {"DBT_SNAPSHOT_ROOT": "from_env"}
    assert find_root("given", environ, "used", base) == base / "given"
    assert find_root(None, environ, "used", base) == base / "from_env"
    assert find_root(None, {}, "used", base) == base / "used"
    assert find_root(None, {}, None, base) == base / ".dbt_snapshot"
    assert find_root("/abs", {}, None, base) == Path("/abs")
    assert find_root("~nobody-here/x", {}, None, base) == base / "~nobody-here/x"


def test_a_remote_root_is_refused_in_words() -> None:
    with pytest.raises(StoreError, match="later release") as caught:
        find_root("s3://bucket/x", {}, None, Path())
    assert caught.value.where == "s3://bucket/x"


def test_memory_and_disk_hold_the_same_keys(tmp_path: Path) -> None:
    on_disk, in_memory = local_store(tmp_path), memory_store()
    assert on_disk.datasets() == in_memory.datasets()
    shas = [
        [m.metadata_sha for m in r.history(ORDERS).newest_first()] for r in (on_disk, in_memory)
    ]
    assert shas[0] == shas[1]
