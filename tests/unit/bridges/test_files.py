"""The fingerprint of a table's files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbt_snapshot_plugin.bridges.files import listing_fingerprint


def put(root: Path, name: str, content: bytes = b"x") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(0, 0))


def test_what_spark_reads_is_listed(tmp_path: Path) -> None:
    for name in ("a.parquet", "day=1/b.parquet", "_day=2/c.parquet"):
        put(tmp_path, name)
    found = listing_fingerprint(str(tmp_path))
    assert found is not None
    assert (found.count, found.bytes) == (3, 3)
    for name in ("_SUCCESS", ".a.parquet.crc", "_temporary/0/d.parquet", ".hidden/e.parquet"):
        put(tmp_path, name)
    assert listing_fingerprint(str(tmp_path)) == found


@pytest.mark.parametrize("change", ["name", "size", "time", "gone"])
def test_any_change_shows(tmp_path: Path, change: str) -> None:
    put(tmp_path, "a.parquet")
    put(tmp_path, "b.parquet")
    before = listing_fingerprint(str(tmp_path))
    path = tmp_path / "a.parquet"
    if change == "name":
        path.rename(tmp_path / "c.parquet")
    elif change == "size":
        put(tmp_path, "a.parquet", b"xy")
    elif change == "time":
        os.utime(path, ns=(0, 1))
    else:
        path.unlink()
    assert listing_fingerprint(str(tmp_path)) != before


@pytest.mark.parametrize("name", ["plain", "a b", "c%20d", "e#f", "g?h", "ü"])
@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_a_location_as_hadoop_writes_it(tmp_path: Path, name: str, form: str) -> None:
    put(tmp_path / name, "a.parquet")
    assert listing_fingerprint(form.format(tmp_path / name)) is not None


@pytest.mark.parametrize(
    "location", [None, "", "s3://bucket/x", "relative/x", "/not/there/at/all"]
)
def test_what_can_not_be_listed(location: str | None) -> None:
    assert listing_fingerprint(location) is None


def test_one_file_is_a_location_too(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", b"id\n")
    found = listing_fingerprint(f"file:{tmp_path}/a.csv")
    assert found is not None
    assert (found.count, found.bytes) == (1, 3)
