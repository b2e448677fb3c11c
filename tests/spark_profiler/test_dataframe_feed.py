"""What the DataFrame feed does by itself, with no JVM."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from spark_profiler import ProfilerError, profile, profile_arrow, profile_schema
from spark_profiler.feeds import dataframe
from spark_profiler.feeds.dataframe import _cores, _cure, _fits_the_driver, _reason

TRACE = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "worker.py", line 1, in main
    first()
pandas.errors.Unlucky: one

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "worker.py", line 5, in main
    process()
    ^^^^^^^^^
my.Failure: two
  with a second line

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
"""
JAVA = """An error occurred while calling o283.collectToPython.
: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Error while reading file x.
\tat org.apache.spark.Foo.bar(Foo.scala:1)
Caused by: java.io.IOException: Error: deep down
"""
SPARK = """[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012
== DataFrame ==
"__truediv__" was called from
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TRACE, "my.Failure: two"),
        (JAVA, "[FAILED_READ_FILE.NO_HINT] Error while reading file x"),
        (SPARK, "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012"),
        ("An error occurred while calling o1.count", "An error occurred while calling o1.count"),
        ("\n", "no text"),
        ("", "no text"),
        ("Traceback (most recent call last):\n  File", "no text"),
    ],
)
def test_the_line_that_says_what_happened(text: str, reason: str) -> None:
    assert _reason(text) == reason


@pytest.mark.parametrize(("parallelism", "cores"), [(200, 200), (3, 3), (0, 1)])
def test_the_number_of_cores(parallelism: int, cores: int) -> None:
    context = SimpleNamespace(defaultParallelism=parallelism)
    df = SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=context))
    assert _cores(df) == cores


def test_connect_does_not_tell_its_cores() -> None:
    assert _cores(SimpleNamespace(sparkSession=SimpleNamespace())) == 16


@pytest.mark.parametrize(
    ("cores", "columns", "fits"),
    [(2, 10, True), (2, 182, True), (2, 183, False), (400, 10, False)],
)
def test_what_the_driver_merges_itself(cores: int, columns: int, fits: bool) -> None:
    assert _fits_the_driver(cores, columns) is fits


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("ModuleNotFoundError: No module named 'numpy'", f"PYSPARK_PYTHON={sys.executable}"),
        ("[PACKAGE_NOT_INSTALLED] Pandas >= 2.2.0 must be installed", "beside pyspark"),
        ("[DIVIDE_BY_ZERO] Division by zero", "df.count()"),
    ],
)
def test_the_next_step(text: str, cure: str) -> None:
    assert cure in _cure(text)


def test_a_schema_alone_has_no_figures() -> None:
    """Zeros would pass for those of an empty table, and so would its data_sha."""
    names = ("a", "b")
    fields = [{"name": name, "type": "long", "nullable": name == "a"} for name in names]
    df = SimpleNamespace(schema=SimpleNamespace(jsonValue=lambda: {"fields": fields}))
    found = profile_schema(df)
    empty = profile_arrow([], [(name, "bigint") for name in names])
    assert found.schema_hash == empty.schema_hash
    assert [column.nullable for column in found.columns] == [True, False]
    assert (found.depth, found.data_sha, found.row_minhash) == ("schema", None, None)
    assert found.column_stats == {}
    for field in ("num_rows", "data_sha", "row_minhash", "column_stats"):
        assert found.not_computed[field] == "no rows were read"


def test_a_schema_that_fails_is_no_trace_either() -> None:
    """On Connect a plan is only analysed when its schema is asked for."""

    class Lazy:
        @property
        def schema(self) -> Any:
            raise PySparkException("[TABLE_OR_VIEW_NOT_FOUND] no `t`.\nSome hint")

    with pytest.raises(ProfilerError, match=r"TABLE_OR_VIEW_NOT_FOUND\] no `t`\. Check"):
        profile(Lazy())


def test_a_spark_client_without_py4j(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    assert len(dataframe._spark_failures()) == 2
    monkeypatch.setitem(sys.modules, "py4j.protocol", None)
    assert dataframe._spark_failures() == (PySparkException,)
