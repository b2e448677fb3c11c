"""Any Spark DataFrame: one pass of `mapInArrow`, states merged in a tree on the cluster."""

from __future__ import annotations

import re
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from spark_profiler.kernel import TableState
from spark_profiler.model import ProfilerError
from spark_profiler.types import SparkType, from_spark_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spark_profiler.kernel import TableSchema

    Batches = Iterable[pa.RecordBatch]

_MAX_FINAL_STATES = 16  # what the driver collects of a tree, however many partitions there were
_TASKS_PER_CORE = 4
_COLUMN_BYTES = 23_000  # of a column's state at most: 2,048 hashes in base64 and a tally
_DRIVER_BYTES = 32 << 20  # of states that the driver may take in at once
_STATE_COLUMN = "state"
_PACKAGE = __name__.partition(".")[0]

_shipping_lock = threading.Lock()
_shipping = {"users": 0}


def dataframe_fields(df: Any) -> list[tuple[str, SparkType, bool]]:
    """(name, type, nullable) of every column."""
    with _spark_errors():  # on Connect the plan is only analysed now
        fields = df.schema.jsonValue()["fields"]
    return [
        (field["name"], from_spark_json(field["type"]), bool(field["nullable"]))
        for field in fields
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
    cores = _cores(df)
    with _ship_by_value(), _spark_errors():
        if _fits_the_driver(cores, len(positions)):
            few = chosen.coalesce(_TASKS_PER_CORE * cores)
            states = few.mapInArrow(_partition_task(schema), columns)
        else:
            many = chosen.mapInArrow(_partition_task(schema), columns)
            merging = many.repartition(min(_MAX_FINAL_STATES, cores))
            states = merging.mapInArrow(_merge_task(schema), columns)
        collected = states.collect()
    total = TableState.zero(schema)
    for row in collected:
        total = total.merge(TableState.from_bytes(schema, bytes(row[0])))
    return total


def _cores(df: Any) -> int:
    from pyspark.errors import PySparkException

    try:
        return max(1, int(df.sparkSession.sparkContext.defaultParallelism))
    except (PySparkException, AttributeError):  # Connect does not tell
        return _MAX_FINAL_STATES


def _fits_the_driver(cores: int, columns: int) -> bool:
    """Whether the states of a few tasks a core can be merged by the driver itself.

    A merging stage starts a Python worker for each of its tasks, which for a small table costs
    more than everything else.
    """
    return _TASKS_PER_CORE * cores * columns * _COLUMN_BYTES <= _DRIVER_BYTES


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
            register_pickle_by_value(sys.modules[_PACKAGE])
    try:
        yield
    finally:
        with _shipping_lock:
            _shipping["users"] -= 1
            if _shipping["users"] == 0:
                unregister_pickle_by_value(sys.modules[_PACKAGE])


@contextmanager
def _spark_errors() -> Iterator[None]:
    """Say in one line what Spark could not do; the trace stays in the cause."""
    try:
        yield
    except _spark_failures() as error:
        raise ProfilerError(
            f"Spark could not read the table while profiling it: {_reason(str(error))}. "
            f"{_cure(str(error))}"
        ) from error


def _cure(text: str) -> str:
    if "ModuleNotFoundError" in text:
        return (
            "Its Python workers need numpy and pyarrow: install them there or, where Spark runs "
            f"on this machine, set PYSPARK_PYTHON={sys.executable} before it starts."
        )
    if "PACKAGE_NOT_INSTALLED" in text:
        return "Install it beside pyspark."
    return "Check that `df.count()` works in the same session."


def _spark_failures() -> tuple[type[Exception], ...]:
    """What pyspark raises: its own errors, and py4j's for Java ones that it does not know."""
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError
    except ImportError:  # the client that speaks Connect only comes without py4j
        return (PySparkException,)
    return (PySparkException, Py4JError)


def _reason(text: str) -> str:
    """The line of an error's text that says what happened.

    A Python worker's error is the first line after its trace that is not indented. py4j's begins
    with the call that it was made for, which says nothing; Spark's begins with what it has to say.
    """
    trace = text.rpartition("Traceback (most recent call last):\n")[2]
    if trace != text:
        lines = [line for line in trace.splitlines() if line and not line[0].isspace()]
    else:
        lines = [line.strip().removeprefix(": ") for line in text.splitlines() if line.strip()]
        if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
            lines.pop(0)
    return re.sub(r"^org\.apache\.spark\.\w+: ", "", lines[0]).rstrip(". ") if lines else "no text"
