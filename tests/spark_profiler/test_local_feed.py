"""Files without Spark: the same profile from every format and layout, and clear refusals."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from spark_profiler import Profile, ProfilerError, profile_arrow
from spark_profiler.feeds.local import open_path

ROWS = [
    {"id": 1, "name": "größe", "part": 0.5},
    {"id": 2, "name": "", "part": -1.5},
    {"id": 3, "name": "x,y", "part": 1e300},
    {"id": 3, "name": "x,y", "part": 1e300},
]
TABLE = pa.Table.from_pylist(ROWS)
PAIRS = [("id", "bigint"), ("name", "string"), ("part", "double")]
WANTED = profile_arrow(TABLE, PAIRS)


def opened(path: Path | str) -> Profile:
    pairs, batches = open_path(path)
    return profile_arrow(batches, pairs)


def csv_bytes() -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(TABLE, sink)
    made: bytes = sink.getvalue().to_pybytes()
    return made


def json_bytes() -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()


def ipc_bytes() -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=3)
    made: bytes = sink.getvalue().to_pybytes()
    return made


def parquet_bytes(table: pa.Table = TABLE, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    made: bytes = sink.getvalue().to_pybytes()
    return made


FILES = {
    "t.parquet": parquet_bytes(),
    "t.snappy.parquet": parquet_bytes(compression="snappy", row_group_size=1),
    "t.PQ": parquet_bytes(compression="zstd", use_dictionary=False),
    "no-ending": parquet_bytes(),
    "t.csv": csv_bytes(),
    "t.csv.gz": gzip.compress(csv_bytes()),
    "t.csv.bz2": bz2.compress(csv_bytes()),
    "t.json": json_bytes(),
    "t.jsonl": json_bytes(),
    "t.ndjson.gz": gzip.compress(json_bytes()),
    "t.arrow": ipc_bytes(),
    "t.feather": ipc_bytes(),
    "also arrow": ipc_bytes(),
    "a file, 100% odd = yes.csv": csv_bytes(),
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_profile(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(FILES[name])
    assert opened(file).to_json() == WANTED.to_json()
    assert opened(str(tmp_path)).to_json() == WANTED.to_json()


def test_relative_paths_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "t.csv").write_bytes(csv_bytes())
    monkeypatch.chdir(tmp_path)
    assert opened("t").to_json() == opened("t/t.csv").to_json() == WANTED.to_json()
    monkeypatch.chdir(tmp_path / "t")
    assert opened("t.csv").to_json() == opened(".").to_json() == WANTED.to_json()


def test_the_files_of_a_directory_are_one_table(tmp_path: Path) -> None:
    for place in range(len(ROWS)):
        folder = tmp_path / "deep" / str(place % 2)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"part-{place}.parquet").write_bytes(parquet_bytes(TABLE.slice(place, 1)))
    for name in ("_SUCCESS", ".part-0.parquet.crc", "_metadata", ".DS_Store"):
        (tmp_path / name).write_bytes(b"not data")
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "part.parquet").write_bytes(parquet_bytes())
    assert opened(tmp_path).to_json() == WANTED.to_json()


def test_linked_folders_and_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.parquet").write_bytes(parquet_bytes(TABLE.slice(0, 2)))
    (tmp_path / "b.parquet").write_bytes(parquet_bytes(TABLE.slice(2)))
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "folder").symlink_to(tmp_path / "there")
    (tmp_path / "here" / "b.parquet").symlink_to(tmp_path / "b.parquet")
    assert opened(tmp_path / "here").to_json() == WANTED.to_json()


def partition(root: Path, folder: str, value: int = 0) -> None:
    (root / folder).mkdir(parents=True)
    (root / folder / "part.parquet").write_bytes(parquet_bytes(pa.table({"v": [value]})))


def partition_type(root: Path, *values: str) -> tuple[str, list[Any]]:
    for place, value in enumerate(values):
        partition(root, f"p={value}", place)
    pairs, batches = open_path(root)
    table = pa.Table.from_batches(batches).sort_by("v")
    assert [name for name, _ in pairs] == ["v", "p"]
    return dict(pairs)["p"], table["p"].to_pylist()


NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
PARTITIONS: list[tuple[str, list[str], list[Any]]] = [
    ("int", ["1", "-2", "03"], [1, -2, 3]),
    ("int", ["2147483647", "-2147483648", NULL_FOLDER], [2147483647, -2147483648, None]),
    ("bigint", ["2147483648", "1"], [2147483648, 1]),
    ("string", ["9999999999999999999", "1"], ["9999999999999999999", "1"]),
    ("double", ["1.5", "2"], [1.5, 2.0]),
    ("string", ["1", "x"], ["1", "x"]),
    ("string", ["2024-02-30", "2024-02-28"], ["2024-02-30", "2024-02-28"]),
    ("string", ["a%2Fb c", "%25"], ["a/b c", "%"]),
    ("string", [NULL_FOLDER], [None]),
    ("string", ["2024-01-01 10%3A00%3A00"], ["2024-01-01 10:00:00"]),
]


@pytest.mark.parametrize(("text", "folders", "values"), PARTITIONS)
def test_partition_folders_are_columns(
    text: str, folders: list[str], values: list[Any], tmp_path: Path
) -> None:
    assert partition_type(tmp_path, *folders) == (text, values)


def test_partitions_may_be_dates(tmp_path: Path) -> None:
    text, values = partition_type(tmp_path, "2024-02-29", NULL_FOLDER)
    assert text == "date"
    assert [None if value is None else value.isoformat() for value in values] == [
        "2024-02-29",
        None,
    ]


def test_partitions_nest_and_hidden_names_may_be_partitions(tmp_path: Path) -> None:
    partition(tmp_path, "_day=2024-01-01/no%3Ade=x/plain", 1)
    partition(tmp_path, "_day=2024-01-02/no%3Ade=y", 2)
    pairs, batches = open_path(tmp_path)
    assert pairs == [("v", "bigint"), ("_day", "date"), ("no:de", "string")]
    assert sum(batch.num_rows for batch in batches) == 2
    one_file = tmp_path / "_day=2024-01-02" / "no%3Ade=y" / "part.parquet"
    assert open_path(one_file)[0] == [("v", "bigint")]


def spark_metadata(*fields: tuple[str, Any]) -> dict[bytes, bytes]:
    """What Spark writes beside the schema of its parquet files."""
    schema = {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields
        ],
    }
    return {b"org.apache.spark.sql.parquet.row.metadata": json.dumps(schema).encode()}


MOMENTS = [-62_135_596_800_000_000, -1, 1_700_000_000_000_001, None, 253_402_300_799_999_999]


def int96(metadata: dict[bytes, bytes] | None = None, name: str = "t") -> bytes:
    """A timestamp column as Spark writes it by default, years 1 to 9999."""
    moments = pa.array(MOMENTS, pa.int64()).view(pa.timestamp("us"))
    table = pa.table({name: moments}).replace_schema_metadata(metadata)
    return parquet_bytes(table, use_deprecated_int96_timestamps=True)


@pytest.mark.parametrize("metadata", [None, spark_metadata(("t", "timestamp"))])
def test_int96_timestamps_are_instants(
    metadata: dict[bytes, bytes] | None, tmp_path: Path
) -> None:
    (tmp_path / "t.parquet").write_bytes(int96(metadata))
    instants = pa.array(MOMENTS, pa.int64()).view(pa.timestamp("us", "UTC"))
    wanted = profile_arrow(pa.table({"t": instants}), [("t", "timestamp")])
    found = opened(tmp_path)
    assert found.to_json() == wanted.to_json()
    assert found.to_dict()["column_stats"]["t"]["min"] == "0001-01-01T00:00:00Z"


def test_a_column_that_only_later_files_have_keeps_its_type(tmp_path: Path) -> None:
    (tmp_path / "1.parquet").write_bytes(parquet_bytes(pa.table({"a": [1]})))
    (tmp_path / "2.parquet").write_bytes(int96(name="b"))
    pairs, batches = open_path(tmp_path)
    assert pairs == [("a", "bigint"), ("b", "timestamp")]
    assert sum(batch.num_rows for batch in batches) == 1 + len(MOMENTS)


def test_types_are_the_ones_that_spark_declared(tmp_path: Path) -> None:
    """Intervals come from parquet as integers, and a simpleString can't say these names."""
    table = pa.table({"i": pa.array([1], pa.int64()), "s": pa.array([{"x:<y": 1}])})
    struct = {"type": "struct", "fields": [{"name": "x:<y", "type": "long"}]}
    metadata = spark_metadata(("i", "interval day to second"), ("s", struct), ("gone", "long"))
    (tmp_path / "t.parquet").write_bytes(parquet_bytes(table.replace_schema_metadata(metadata)))
    pairs, _ = open_path(tmp_path)
    assert pairs == [("i", "interval day to second"), ("s", "struct<`x:<y`:bigint>")]
    found = opened(tmp_path)
    assert found.depth == "schema"
    assert found.columns[1].spark_type == "struct<x:<y:bigint>"


def test_a_column_without_values_in_one_file_has_the_type_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{"a": null}\n')
    (tmp_path / "2.json").write_text('{"a": 5, "b": "x"}\n')
    assert open_path(tmp_path)[0] == [("a", "bigint"), ("b", "string")]
    assert opened(tmp_path).to_dict()["column_stats"]["a"]["null_count"] == 1


def refusal(path: Path) -> str:
    with pytest.raises(ProfilerError) as caught:
        opened(path)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


BROKEN = {
    "truncated.parquet": parquet_bytes()[:-20],
    "empty.parquet": b"",
    "magic only": b"PAR1",
    "empty.csv": b"",
    "ragged.csv": b"a,b\n1,2\n3\n",
    "twice.csv": b"a,a\n1,2\n",
    "half.csv.gz": gzip.compress(csv_bytes() * 50)[:-30],
    "array.json": b'[{"a": 1}]',
    "half.json": b'{"a": 1\n',
    "mixed.json": b'{"a": 1}\n{"a": "x"}\n',
    "half.arrow": ipc_bytes()[:-20],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(BROKEN[name])
    assert refusal(tmp_path / name).startswith(f"{tmp_path / name} can't be read: ")
    text = refusal(tmp_path)
    assert text.startswith(f"{tmp_path} can't be read: ")


def test_damage_inside_of_a_file_is_found_while_reading(tmp_path: Path) -> None:
    """The footer is whole; a wrong number gives itself away by the checksum that Spark writes."""
    table = pa.table({"a": list(range(5000))})
    raw = bytearray(parquet_bytes(table, compression="none", write_page_checksum=True))
    assert raw.count((4321).to_bytes(8, "little")) == 1
    place = raw.index((4321).to_bytes(8, "little"))
    raw[place] ^= 1
    (tmp_path / "t.parquet").write_bytes(raw)
    assert refusal(tmp_path).startswith(f"{tmp_path} can't be read: ")


def test_missing_paths_and_empty_folders_are_named(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no").startswith(f"{tmp_path / 'no'} does not exist.")
    assert refusal(tmp_path).startswith(f"{tmp_path} holds no data files")
    (tmp_path / "_SUCCESS").touch()
    assert refusal(tmp_path).startswith(f"{tmp_path} holds no data files")
    (tmp_path / "gone.parquet").symlink_to(tmp_path / "nowhere")
    assert str(tmp_path) in refusal(tmp_path)


def test_several_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(csv_bytes())
    (tmp_path / "b.parquet").write_bytes(parquet_bytes())
    text = refusal(tmp_path)
    assert text.startswith(f"{tmp_path} holds files of several formats")
    assert "csv: a.csv, parquet: b.parquet" in text


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    text = refusal(tmp_path)
    assert text.startswith(f"{tmp_path / 'notes.txt'} is of no known format")
    assert ".parquet" in text


def test_files_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "1.parquet").write_bytes(parquet_bytes(pa.table({"a": [1]})))
    (tmp_path / "2.parquet").write_bytes(parquet_bytes(pa.table({"a": ["x"]})))
    text = refusal(tmp_path)
    assert str(tmp_path) in text
    assert "a" in text.split("can't be read:")[1]


def test_a_file_with_equal_names_is_refused(tmp_path: Path) -> None:
    twins = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    (tmp_path / "t.parquet").write_bytes(parquet_bytes(twins))
    assert refusal(tmp_path).startswith(f"{tmp_path} has several columns named 'a'.")


def test_a_folder_that_cannot_be_listed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaving its rows out would make another table, in silence."""
    (tmp_path / "t.parquet").write_bytes(parquet_bytes())
    (tmp_path / "secret").mkdir()
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    text = refusal(tmp_path)
    assert "Permission denied" in text
    assert "secret" in text
