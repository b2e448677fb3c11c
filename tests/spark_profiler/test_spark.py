"""DataFrames: the same bytes for any layout, with Spark and without it; and clear refusals."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spark_profiler import Profile, ProfileOptions, ProfilerError, profile, profile_arrow
from spark_profiler.canonical import data_sha
from spark_profiler.feeds import dataframe
from spark_profiler.feeds.local import open_path
from tests.spark_profiler import reference
from tests.spark_profiler.tables import Row
from tests.spark_profiler.test_data_sha import profiled

pytestmark = pytest.mark.spark

# Every type that is hashed, nulls in most columns; `p` may be a partition.
COLUMNS = [
    "IF(id % 7 = 0, NULL, id % 50) AS n",
    "CAST(id % 3 AS TINYINT) AS tiny",
    "id % 2 = 0 AS flag",
    """CASE id % 6 WHEN 0 THEN DOUBLE('NaN') WHEN 1 THEN -0D WHEN 2 THEN 0D
       WHEN 3 THEN DOUBLE('Infinity') WHEN 4 THEN 1e300 ELSE (id % 10) / 3D END AS d""",
    "CAST((id % 9) / 7D AS FLOAT) AS f",
    "CAST((id % 10) / 8 AS DECIMAL(9,2)) AS small",
    "CAST(POW(10, id % 20) AS DECIMAL(38,5)) * IF(id % 2 = 0, 1, -1) AS wide",
    """ELT(id % 6 + 1, '', 'größe 📏', NULL, REPEAT('ab', 20), CAST(id % 8 AS STRING),
       CAST(X'C3FF' AS STRING)) AS s""",
    "IF(id % 4 = 0, NULL, UNHEX(LPAD(HEX(id % 6), 4, 'FF'))) AS bin",
    "DATE_ADD(DATE'0001-01-01', CAST(id % 40 * 93621 AS INT)) AS day",
    "TIMESTAMP_MICROS(id % 30 * 10123456789012345 - 62135596800000000) AS at",
    "TIMESTAMP_NTZ'2024-03-10 02:30:00' + MAKE_DT_INTERVAL(0, id % 30, 0, 0.000001) AS wall",
    "IF(id % 11 = 0, NULL, TRANSFORM(SEQUENCE(0, id % 4), x -> IF(x = 2, NULL, x))) AS items",
    """IF(id % 13 = 0, NULL, NAMED_STRUCT('a b', CAST(id % 3 AS STRING),
       'c', ARRAY(TIMESTAMP_SECONDS(id % 5)))) AS rec""",
    "MAP('x', id % 4, CAST(id % 3 AS STRING), NULL) AS m",
    "IF(id % 10 = 0, NULL, CAST(id % 3 AS INT)) AS p",
]
OPTIONS = ProfileOptions(volatile=("wall",))


def content(found: Profile) -> bytes:
    """The Profile as JSON but for nullability: a saved table is nullable, what it was may not."""
    plain = found.to_dict()
    plain["columns"] = [{**column, "nullable": True} for column in plain["columns"]]
    return Profile.from_dict(plain).to_json()


def of_path(path: Path) -> bytes:
    """The same without Spark."""
    pairs, batches = open_path(path)
    return content(profile_arrow(batches, pairs, OPTIONS))


@contextmanager
def setting(spark: Any, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)


@pytest.fixture(scope="module")
def frame(spark: Any) -> Iterator[Any]:
    made = spark.range(0, 120, 1, 2).selectExpr(*COLUMNS).cache()
    yield made
    made.unpersist()


@pytest.fixture(scope="module")
def wanted(frame: Any) -> bytes:
    found = profile(frame, OPTIONS)
    assert found.num_rows == 120
    assert found.depth == "full"
    assert {column.kind for column in found.columns} == {
        "numeric",
        "boolean",
        "string",
        "binary",
        "datetime",
        "nested",
    }
    return content(found)


# How the rows are laid out, the rows of an Arrow batch, and the time zone of the session.
LAYOUTS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "one partition": (lambda df: df.coalesce(1), "7", "UTC"),
    "sorted": (lambda df: df.orderBy("s", "n", ascending=False), "1", "America/New_York"),
    "by hash, some empty": (lambda df: df.repartition(5, "flag"), "64", "Asia/Kolkata"),
    "a union of two": (
        lambda df: df.where("flag").union(df.where("NOT flag")),
        "100000",
        "Pacific/Apia",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_partitions_order_batches_and_time_zones_do_not_show(
    layout: str, spark: Any, frame: Any, wanted: bytes
) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "America/New_York"
    lay_out, rows, zone = LAYOUTS[layout]
    with (
        setting(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", rows),
        setting(spark, "spark.sql.session.timeZone", zone),
    ):
        assert content(profile(lay_out(frame), OPTIONS)) == wanted


WRITERS: dict[str, Callable[[Any], Any]] = {
    "one file": lambda df: df.coalesce(1).write,
    "seven files": lambda df: df.repartition(7).write.option("compression", "gzip"),
    "partitioned": lambda df: df.write.partitionBy("p"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_files_do_not_show_with_spark_or_without(
    writer: str, spark: Any, frame: Any, wanted: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "a table"
    WRITERS[writer](frame).parquet(str(path))
    assert content(profile(spark.read.parquet(str(path)), OPTIONS)) == wanted
    assert of_path(path) == wanted


def test_the_form_of_timestamps_in_files_does_not_show(
    spark: Any, frame: Any, wanted: bytes, tmp_path: Path
) -> None:
    """INT96 is Spark's default; the other one says what it is in the file itself."""
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == "INT96"
    with setting(spark, "spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"):
        frame.write.parquet(str(tmp_path / "micros"))
    assert of_path(tmp_path / "micros") == wanted


def test_a_view_is_its_rows(spark: Any, frame: Any) -> None:
    frame.where("p = 1").createOrReplaceTempView("some_rows")
    found = profile(spark.table("some_rows").select("p"))
    assert found.num_rows == 36
    assert found.data_sha == profiled([("p", "int")], [(1,)] * 36).data_sha


def test_spark_and_the_reference_tables_agree(spark: Any) -> None:
    columns = [("a", "int"), ("b c", "string")]
    found = profile(
        spark.sql("SELECT * FROM VALUES (1, 'ü'), (NULL, ''), (1, 'ü') AS t(a, `b c`)")
    )
    rows: list[Row] = [(None, b""), (1, "ü".encode()), (1, "ü".encode())]
    assert content(found) == content(profiled(columns, rows))


def test_a_frame_without_rows(spark: Any, frame: Any) -> None:
    pairs = [(field.name, field.dataType.simpleString()) for field in frame.schema]
    nothing = content(profile_arrow([], pairs, OPTIONS))
    assert content(profile(frame.limit(0), OPTIONS)) == nothing


ODD = ["a.b", "A.B", "x`y", " ", "", "😀 z", "a,b<c>:d", "ключ"]


def test_odd_names_and_case_twins_are_kept(spark: Any) -> None:
    """Also inside of structs, where Spark's way to Arrow renames equal ones."""
    quoted = [name.replace("`", "``") for name in ODD]
    expressions = [f"{place} AS `{name}`" for place, name in enumerate(quoted)]
    expressions.append("NAMED_STRUCT('x:y', 1, 'A', 'q', 'a', 2, 'c<d', 3) AS odd")
    expressions.append("NAMED_STRUCT('a', 1, 'a', 2) AS twins")
    found = profile(spark.sql("SELECT " + ", ".join(expressions)))
    types = [(name, "int") for name in ODD]
    types += [("odd", "struct<x:y:int,A:string,a:int,c<d:int>"), ("twins", "struct<a:int,a:int>")]
    assert [(column.name, column.spark_type) for column in found.columns] == types
    plain = [*range(len(ODD)), (1, b"q", 2, 3), (1, 2)]
    types[-2] = ("odd", "struct<x:int,A:string,a:int,c:int>")  # names are no part of a cell
    cells = [reference.row_hash(lane, [text for _, text in types], plain) for lane in (0, 1)]
    columns = [(column.name, column.spark_type) for column in found.columns]
    assert found.data_sha == data_sha(columns, 1, (cells[0], cells[1]))


def test_types_without_an_encoding_make_it_a_schema_profile(spark: Any) -> None:
    found = profile(
        spark.range(3).selectExpr(
            "INTERVAL '1' DAY AS i", "id", "ARRAY(INTERVAL '2' MONTH) AS m", "NULL AS v"
        )
    )
    assert (found.depth, found.data_sha, found.num_rows) == ("schema", None, 3)
    assert list(found.column_stats) == ["id"]
    assert (
        "i (interval day), m (array<interval month>), v (void)" in (found.not_computed["data_sha"])
    )
    alone = profile(spark.sql("SELECT INTERVAL '1' DAY AS i"))
    assert (alone.depth, alone.num_rows) == ("schema", 1)


def test_profiles_on_several_threads(frame: Any, wanted: bytes) -> None:
    """Captures run on dbt's worker threads; each ships the code for itself."""
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda _: content(profile(frame, OPTIONS)), range(2)))
    assert made == [wanted] * 2


def refusal(df: Any) -> str:
    with pytest.raises(ProfilerError) as caught:
        profile(df)
    text = str(caught.value)
    assert "\n" not in text
    assert "\tat " not in text
    assert text.endswith(".")
    return text


def test_equal_names_and_no_columns_are_refused(spark: Any) -> None:
    assert "several columns named 'a'" in refusal(spark.sql("SELECT 1 AS a, 2 AS b, 3 AS a"))
    assert "no columns" in refusal(spark.range(3).select())


def test_a_plan_that_fails_at_run_time(spark: Any) -> None:
    text = refusal(spark.sql("SELECT CAST(RAISE_ERROR('no such rate') AS INT) AS a"))
    assert "Spark could not read the table" in text
    assert "no such rate" in text
    assert "Check that `df.count()` works" in text
    counted = spark.sql("SELECT INTERVAL '1' DAY AS i WHERE RAISE_ERROR('while counting') IS NULL")
    assert "while counting" in refusal(counted)


def test_a_python_function_of_the_users_that_fails(spark: Any) -> None:
    from pyspark.sql import functions

    broken = functions.udf(lambda number: {}[number], "int")
    text = refusal(spark.range(2).select(broken("id").alias("a")))
    assert "KeyError: " in text
    assert "Traceback" not in text


def test_a_file_that_is_gone(spark: Any, tmp_path: Path) -> None:
    """Spark raises this one as a bare Java error."""
    spark.range(5).coalesce(1).write.parquet(str(tmp_path / "t"))
    df = spark.read.parquet(str(tmp_path / "t"))
    for file in (tmp_path / "t").glob("part-*"):
        file.unlink()
    text = refusal(df)
    assert "FILE_NOT_EXIST" in text
    assert str(tmp_path) in text
    assert "An error occurred while calling" not in text


@pytest.mark.parametrize("missing", ["numpy", "pyarrow"])
def test_a_worker_without_a_library(
    missing: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{missing}.py").write_text(
        f"raise ModuleNotFoundError(\"No module named '{missing}'\")"
    )
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH={tmp_path}:"$PYTHONPATH" exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    text = refusal(spark.range(2))
    assert missing in text
    assert "Its Python workers need numpy and pyarrow" in text


def test_a_worker_without_python(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/such/python")
    assert 'Cannot run program "/no/such/python"' in refusal(spark.range(2))


def test_a_tree_of_states_gives_the_same(
    frame: Any, wanted: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a large cluster or a wide table takes."""
    monkeypatch.setattr(dataframe, "_DRIVER_BYTES", 0)
    assert content(profile(frame.repartition(7), OPTIONS)) == wanted
