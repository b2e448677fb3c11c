"""Local files without Spark: parquet, CSV, JSON lines and Arrow IPC, one file or a directory."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from spark_profiler.model import ProfilerError
from spark_profiler.types import SparkType, UnknownTypeError, from_arrow, from_spark_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    SchemaPairs = list[tuple[str, str]]

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".feather": "ipc",
}
_COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")
_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_BATCH_ROWS = 1 << 16


def open_path(path: str | os.PathLike[str]) -> tuple[SchemaPairs, Iterator[pa.RecordBatch]]:
    """The (name, Spark type) pairs of the table at `path`, and its rows as Arrow batches.

    Directories are read whole, with hive partition directories (`day=2024-01-01/`) as columns;
    names that begin with `_` or `.` are ignored, as Spark does. Types come from Spark's own
    schema where it wrote the files, otherwise from the files; a partition column is an int,
    bigint, double or date if all its values are, otherwise a string.
    """
    root = Path(path)
    try:
        files = _data_files(root)
        kind = _one_format(root, files)
        dataset = _dataset(root, files, kind)
        types = {field.name: from_arrow(field.type) for field in dataset.schema}
        if kind == "parquet":
            types.update(_parquet_types(files, types))
    except (pa.ArrowException, OSError, UnknownTypeError) as error:
        raise _unreadable(root, error) from error
    pairs = [(name, types[name].quoted_text) for name in dataset.schema.names]
    return pairs, _batches(root, dataset)


def _data_files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise ProfilerError(f"{root} does not exist. Give a data file or a directory of them.")
    found: list[Path] = []
    # A folder that can't be listed is an error: without its rows the table is another one.
    for folder, subfolders, names in os.walk(root, onerror=_raise, followlinks=True):
        subfolders[:] = sorted(name for name in subfolders if not _is_hidden(name))
        found += [Path(folder, name) for name in sorted(names) if not _is_hidden(name)]
    if not found:
        raise ProfilerError(
            f"{root} holds no data files (names that begin with _ or . are ignored). "
            "Give the directory that the table's files are in."
        )
    return found


def _raise(error: OSError) -> None:
    raise error


def _is_hidden(name: str) -> bool:
    """Spark's rule: `_SUCCESS` and `.crc` are no data, but `_day=1/` is a partition."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _one_format(root: Path, files: list[Path]) -> str:
    by_format: dict[str, Path] = {}
    for file in files:
        by_format.setdefault(_format_of(file), file)
    if len(by_format) > 1:
        listing = ", ".join(f"{kind}: {file.name}" for kind, file in sorted(by_format.items()))
        raise ProfilerError(
            f"{root} holds files of several formats ({listing}). Give a directory with one format."
        )
    return next(iter(by_format))


def _format_of(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    known = _FORMATS.get(suffixes[-1]) if suffixes else None
    if known:
        return known
    with file.open("rb") as stream:
        magic = stream.read(6)
    if magic.startswith(b"PAR1"):
        return "parquet"
    if magic == b"ARROW1":
        return "ipc"
    endings = " ".join(sorted(_FORMATS))
    raise ProfilerError(
        f"{file} is of no known format. Known endings: {endings} (also compressed: .gz)."
    )


def _unreadable(path: Path, error: Exception) -> ProfilerError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return ProfilerError(
        f"{path} can't be read: {reason.rstrip('.')}. Check that the file is complete and of the "
        "format that its name says (JSON: one object per line)."
    )


def _dataset(root: Path, files: list[Path], kind: str) -> ds.Dataset:
    """All files under one schema; a file whose types contradict the others is an error."""
    if kind == "parquet":  # Spark writes INT96, which wraps outside 1677-2262 as nanoseconds
        file_format = ds.ParquetFileFormat(
            read_options=ds.ParquetReadOptions(coerce_int96_timestamp_unit="us"),
            default_fragment_scan_options=ds.ParquetFragmentScanOptions(
                page_checksum_verification=True
            ),
        )
    else:
        formats = {"csv": ds.CsvFileFormat, "json": ds.JsonFileFormat, "ipc": ds.IpcFileFormat}
        file_format = formats[kind]()
    base = root if root.is_dir() else root.parent
    partitions = _partitions(base, files)
    options = ds.FileSystemFactoryOptions(
        partition_base_dir=str(base), partitioning=ds.partitioning(partitions, flavor="hive")
    )
    factory = ds.FileSystemDatasetFactory(
        pafs.LocalFileSystem(), [str(file) for file in files], file_format, options
    )
    schemas = [file_format.inspect(str(file), pafs.LocalFileSystem()) for file in files]
    for schema in schemas:
        twice = sorted(name for name, count in Counter(schema.names).items() if count > 1)
        if twice:
            raise ProfilerError(
                f"{root} has several columns named {', '.join(map(repr, twice))}. "
                "Rename them, so that every name is there once."
            )
    return factory.finish(pa.unify_schemas([*schemas, partitions]))


def _partitions(base: Path, files: list[Path]) -> pa.Schema:
    """The partition columns that the folders below `base` name, typed as Spark infers them."""
    values: dict[str, set[str]] = {}
    for file in files:
        for part in file.relative_to(base).parent.parts:
            name, sign, value = part.partition("=")
            if sign:
                values.setdefault(unquote(name), set()).add(unquote(value))
    return pa.schema((name, _partition_type(found)) for name, found in values.items())


def _partition_type(values: set[str]) -> pa.DataType:
    present = values - {"__HIVE_DEFAULT_PARTITION__"}
    if not present:
        return pa.string()
    if all(re.fullmatch(r"-?[0-9]{1,19}", value) for value in present):
        bits = max(
            (int(value) if value[0] != "-" else ~int(value)).bit_length() for value in present
        )
        return pa.int32() if bits < 32 else pa.int64() if bits < 64 else pa.string()
    if all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value) for value in present):
        return pa.float64()
    return pa.date32() if all(_is_date(value) for value in present) else pa.string()


def _is_date(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _parquet_types(files: list[Path], found: dict[str, SparkType]) -> dict[str, SparkType]:
    """Types as Spark declared them; INT96 without such a declaration is an instant.

    Of every file, since a column may have been added later.
    """
    types: dict[str, SparkType] = {}
    for file in files:
        with pq.ParquetFile(file) as opened:
            columns = [opened.schema.column(i) for i in range(len(opened.schema))]
            declared = (opened.metadata.metadata or {}).get(_SPARK_SCHEMA, b'{"fields":[]}')
        types.update(
            (column.path, SparkType("timestamp"))
            for column in columns
            if column.physical_type == "INT96"
        )
        types.update(
            (field["name"], from_spark_json(field["type"]))
            for field in json.loads(declared)["fields"]
        )
    return {name: spark_type for name, spark_type in types.items() if name in found}


def _batches(root: Path, dataset: ds.Dataset) -> Iterator[pa.RecordBatch]:
    try:
        yield from dataset.to_batches(batch_size=_BATCH_ROWS)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(root, error) from error
