"""Any Spark DataFrame: one pass of `mapInArrow`, states merged in a tree on the cluster."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import spark_profiler
from spark_profiler.kernel import TableState
from spark_profiler.model import ProfilerError
from spark_profiler.types import SparkType, from_spark_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spark_profiler.kernel import TableSchema

    Batches = Iterable[pa.RecordBatch]

_MAX_FINAL_STATES = 16  # what the driver collects, however many partitions there were
_STATE_COLUMN = "state"

_shipping_lock = threading.Lock()
_shipping = {"users": 0}


def dataframe_fields(df: Any) -> list[tuple[str, SparkType, bool]]:
    """(name, type, nullable) of every column."""
    return [
        (field["name"], from_spark_json(field["type"]), bool(field["nullable"]))
        for field in df.schema.jsonValue()["fields"]
    ]


def count_rows(df: Any) -> int:
    """The row count, for a frame of which no column can be read."""
    with _spark_errors():
        return int(df.count())


def profile_dataframe(df: Any, schema: TableSchema, positions: list[int]) -> TableState:
    """The state of the columns at `positions`, computed on Spark.

    Columns are renamed by position first: dots, backticks and case twins in names break planning.
    """
    renamed = df.toDF(*(f"c{i}" for i in range(len(df.columns))))
    chosen = renamed.select(*(f"c{i}" for i in positions))
    columns = f"{_STATE_COLUMN} binary"
    with _ship_by_value(), _spark_errors():
        states = chosen.mapInArrow(_partition_task(schema), columns)
        merged = states.repartition(_final_states(df)).mapInArrow(_merge_task(schema), columns)
        collected = merged.collect()
    total = TableState.zero(schema)
    for row in collected:
        total = total.merge(TableState.from_bytes(schema, bytes(row[0])))
    return total


def _final_states(df: Any) -> int:
    """At most 16, and no more than the session uses for its own shuffles."""
    shuffle = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions", "200"))
    return max(1, min(_MAX_FINAL_STATES, shuffle))


def _partition_task(schema: TableSchema) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def profile_partition(batches: Batches) -> Iterator[pa.RecordBatch]:
        state = TableState.zero(schema)
        for batch in batches:
            state.update(batch)
        if state.rows:
            yield pa.RecordBatch.from_pydict({"state": pa.array([state.to_bytes()], pa.binary())})

    return profile_partition


def _merge_task(schema: TableSchema) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def merge_states(batches: Batches) -> Iterator[pa.RecordBatch]:
        total = TableState.zero(schema)
        for batch in batches:
            for raw in batch.column(0):
                total = total.merge(TableState.from_bytes(schema, raw.as_py()))
        if total.rows:
            yield pa.RecordBatch.from_pydict({"state": pa.array([total.to_bytes()], pa.binary())})

    return merge_states


@contextmanager
def _ship_by_value() -> Iterator[None]:
    """Pickle our own code by value while this lasts, so that workers need not have it installed.

    Held over the whole action, since Spark may pickle late; counted, since captures run on several
    threads and the first one to finish must not unregister for the others.
    """
    from pyspark.cloudpickle import register_pickle_by_value, unregister_pickle_by_value

    with _shipping_lock:
        _shipping["users"] += 1
        if _shipping["users"] == 1:
            register_pickle_by_value(spark_profiler)
    try:
        yield
    finally:
        with _shipping_lock:
            _shipping["users"] -= 1
            if _shipping["users"] == 0:
                unregister_pickle_by_value(spark_profiler)


@contextmanager
def _spark_errors() -> Iterator[None]:
    """Say in one line what Spark could not do; the trace stays in the cause."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reasons = [line for line in lines if "Error: " in line and not line.startswith("at ")]
        reason = (reasons or lines or [type(error).__name__])[0 if not reasons else -1]
        raise ProfilerError(
            f"Spark could not read the table while profiling it: {reason}. Check that "
            "`df.count()` works in the same session and that its Python workers have numpy "
            "and pyarrow."
        ) from error
