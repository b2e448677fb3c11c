"""Spark: the session, what the catalog says of a relation, and its profile."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt_snapshot_plugin.model.errors import CaptureError, HostError, SnapshotError

_UNKNOWN_SIZE = 2**62  # Spark's default for a partitioned table without statistics is 2^63 - 1
_MISSING = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "PATH_NOT_FOUND",
    "DELTA_TABLE_NOT_FOUND",
)
_ERROR_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@dataclass(frozen=True)
class RelationFacts:
    """What the catalog says of a relation."""

    relation: str
    is_view: bool
    provider: str
    location: str | None


def open_session(parameters: Mapping[str, Any]) -> Any:
    """The session that dbt-spark itself uses, or a new one with the same settings."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise HostError(
            "pyspark is not installed",
            next_step="pip install 'dbt-snapshot-plugin[spark]'",
        ) from None
    is_remote = "spark.remote" in parameters or "SPARK_REMOTE" in os.environ
    if not is_remote and active_context() is None:
        _require_java()
    builder = SparkSession.builder.enableHiveSupport()
    for key, value in parameters.items():
        builder = builder.config(key, str(value))
    try:
        return builder.getOrCreate()
    except (PySparkException, RuntimeError, OSError) as error:
        raise HostError(
            f"Spark did not start: {first_line(error)}",
            next_step="check `server_side_parameters` of your dbt profile",
        ) from None


def active_context() -> Any:
    """The Spark that runs in this process already; None if there is none, or it is remote."""
    try:
        from pyspark import SparkContext
    except ImportError:
        return None
    return getattr(SparkContext, "_active_spark_context", None)


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    found = (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is not None
    if not found:
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise HostError(
            "no Java was found, and Spark needs one (17 or newer)",
            where=where,
            next_step="install it (Debian: apt-get install openjdk-17-jre-headless) "
            "and set JAVA_HOME",
        )


def first_line(error: BaseException) -> str:
    """A Java trace is never the answer: its first line says what happened."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


class _Hush(logging.Filter):
    """pyspark writes each SQL error to stderr, Java trace and all; ours are told by us."""

    asking = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002
        return not getattr(self.asking, "now", False)


_hush = _Hush()


def _hush_pyspark() -> None:
    """Only while our own thread asks; dbt's statements are none of our business."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return  # before 4.0 nothing was written
    for name in _ERROR_LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_hush)


@contextlib.contextmanager
def _spark_errors(relation: str) -> Iterator[None]:
    """Spark's errors as ours; a missing relation is by far the most common."""
    from pyspark.errors import PySparkException

    from spark_profiler.model import ProfilerError

    _hush.asking.now = True
    try:
        yield
    except PySparkException as error:
        raise _explained(error, relation) from None
    except ProfilerError as error:
        cause = error.__cause__
        if isinstance(cause, PySparkException) and any(m in str(cause) for m in _MISSING):
            raise _explained(cause, relation) from None
        raise CaptureError(f"{relation}: {error}") from None
    except Exception as error:
        if not type(error).__module__.startswith("py4j"):
            raise
        raise _explained(error, relation) from None
    finally:
        _hush.asking.now = False


def _explained(error: BaseException, relation: str) -> SnapshotError:
    line = first_line(error)
    if "XSDB6" in f"{error}{getattr(error, '_stackTrace', '')}":  # deep down among the causes
        return HostError(
            "another process holds the embedded Derby metastore, which lets in one at a time",
            next_step="wait until the other dbt or Spark process has ended",
        )
    if any(mark in line for mark in _MISSING) and _quoted(relation) in line:
        return CaptureError(
            f"the relation {relation} does not exist",
            next_step="if dbt has just built it, something dropped it since: build it again",
        )
    return CaptureError(
        f"Spark could not read {relation}: {line}",
        next_step="check that it can be selected from, then run `dbt-snapshot capture`",
    )


class SparkHost:
    """Everything a capture asks of Spark."""

    def __init__(self, session: Any) -> None:
        self._session = session
        _hush_pyspark()

    @property
    def version(self) -> str:
        return str(self._session.version)

    def check_catalog(self, log_level: str | None) -> None:
        """Raises where the catalog can't be reached, before anything is begun.

        Hive tries again and again and logs a Java trace each time, so the log is off meanwhile,
        and at `log_level` afterwards. None leaves it alone: the session is somebody else's.
        """
        context = active_context() if log_level is not None else None
        if context is not None:
            context.setLogLevel("OFF")
        try:
            with _spark_errors("the catalog"):
                self._session.sql("SHOW DATABASES").collect()
        finally:
            if context is not None:
                context.setLogLevel(log_level)

    def describe(self, relation: str) -> RelationFacts:
        with _spark_errors(relation):
            rows = self._session.sql(f"DESCRIBE TABLE EXTENDED {_quoted(relation)}").collect()
        details: dict[str, str] = {}
        in_details = False
        for row in rows:
            in_details = in_details or str(row[0]).startswith("# Detailed Table Information")
            if in_details:
                details.setdefault(str(row[0]), str(row[1]))
        return RelationFacts(
            relation=relation,
            is_view=details.get("Type", "").upper() == "VIEW",
            provider=details.get("Provider", "").lower() or "unknown",
            location=details.get("Location") or None,
        )

    def frame(self, relation: str) -> Any:
        """The relation as it is now, analysed; Spark may hold an old listing of its files."""
        with _spark_errors(relation):
            self._session.catalog.refreshTable(_quoted(relation))
            frame = self._session.table(_quoted(relation))
            _ = frame.columns  # on Connect the plan is only analysed now
            return frame

    def estimated_bytes(self, frame: Any) -> int | None:
        """What a scan reads, by Spark's own estimate; None where it can't be asked (Connect).

        The sum over the leaves of the plan: for the whole plan Spark multiplies the sizes of the
        two sides of a join, so that a view over small tables looks like terabytes.
        """
        try:
            leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
            found = [leaves.apply(i).stats().sizeInBytes() for i in range(leaves.length())]
            sizes = [int(str(size)) for size in found]
            return None if max(sizes, default=0) >= _UNKNOWN_SIZE else sum(sizes)
        except Exception:  # noqa: BLE001 - a private door: any failure means "not known"
            return None

    def profile(
        self, frame: Any, relation: str, *, volatile: tuple[str, ...], high_null: float
    ) -> Any:
        """Reads every row; `relation` is what an error names."""
        from spark_profiler import ProfileOptions, profile

        options = ProfileOptions(high_null=high_null, volatile=volatile)
        with _spark_errors(relation):
            return profile(frame, options)

    def schema_profile(self, frame: Any, relation: str) -> Any:
        """The schema in the profile's shape, without reading a row."""
        from spark_profiler import profile_schema

        with _spark_errors(relation):
            return profile_schema(frame)


def _quoted(relation: str) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in relation.split("."))
