"""Great Expectations validation results, read as JSON; GX itself is not imported.

Reads what GX 0.15 to 1.24 store. The reader trusts nothing: a file that contradicts itself is
refused, because the alternative is a PASS that nobody gave. Values of the data (GX's `result`
blocks) are never copied, only counts.
"""

from __future__ import annotations

import datetime as dt
import json
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from dbt_snapshot_plugin.bridges.gx_files import moment, path_time
from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex
from dbt_snapshot_plugin.model.errors import EvidenceError
from dbt_snapshot_plugin.model.qa import Counts, FailedCheck, Severity

MAX_BYTES = 256 * 1024**2
_LONGEST_NAME = 1000
Outcome = Literal["passed", "failed", "error"]

_MARKS = frozenset({"results", "success", "statistics"})
_SEVERITIES: dict[Any, Severity] = {"critical": "critical", "warning": "warning", "info": "info"}
_ROW_COUNTS = frozenset(
    {"expect_table_row_count_to_be_between", "expect_table_row_count_to_equal"}
)
_PART_KEYS = ("query", "partitioner_method", "splitter_method", "sampling_method", "limit")
_WHOLE_KEYS = frozenset({"dataframe", "path"})


@dataclass(frozen=True)
class Subject:
    """What a result says it is about, as far as it can be told even from a refused file."""

    where: str
    sha256: str
    suite: str
    asset: str | None = None
    schema: str | None = None
    table: str | None = None
    unique_ids: tuple[str, ...] = ()
    """`dbt_unique_id` of the expectations' own meta."""
    run_name: str | None = None
    observed_at: dt.datetime | None = None
    finished_at: dt.datetime | None = None
    """The latest time the result names; the data must have stood still until then."""
    partial: bool = False
    gx_version: str | None = None


@dataclass(frozen=True)
class Check:
    type: str
    column: str | None
    severity: Severity
    outcome: Outcome
    unexpected_count: int | None
    element_count: int | None


@dataclass(frozen=True)
class GxResult:
    subject: Subject
    success: bool
    checks: tuple[Check, ...]
    counts: Counts
    suite_sha: str
    judged_rows: int | None
    """How many rows the suite saw, where it says so."""

    @property
    def failed(self) -> list[FailedCheck]:
        return [
            FailedCheck(
                check=check.type,
                column=check.column,
                severity=check.severity,
                outcome=check.outcome,
                unexpected_count=check.unexpected_count,
                element_count=check.element_count,
            )
            for check in self.checks
            if check.outcome != "passed"
        ]


class NotAResultError(EvidenceError):
    """Good JSON of another kind: a suite, a checkpoint, a definition."""


class UnreadableResultError(EvidenceError):
    """A result that can't be believed; `subject` is set where the file still says whose it is."""

    def __init__(self, what: str, *, where: str, sha256: str, subject: Subject | None = None):
        super().__init__(
            what, where=where, next_step="run the checkpoint again, or delete the file"
        )
        self.sha256 = sha256
        self.subject = subject


class _Contradiction(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, path: str, text: str) -> None:
        super().__init__(f"{text} (at {path})")


def read_result(source: Path | bytes, where: str) -> GxResult:
    """The result in a file; raises NotAResultError or UnreadableResultError."""
    data = source if isinstance(source, bytes) else _read_bytes(source, where)
    sha256 = sha256_hex(data)
    try:
        document = _parse(data)
    except (ValueError, RecursionError) as error:
        what = f"not a whole JSON document: {error}"
        raise UnreadableResultError(what, where=where, sha256=sha256) from None
    if not isinstance(document, dict):
        what = f"a validation result is a JSON object, this is a {type(document).__name__}"
        raise UnreadableResultError(what, where=where, sha256=sha256)
    if not _MARKS & document.keys():
        raise NotAResultError("not a validation result", where=where)
    subject: Subject | None = None
    try:
        subject = _subject(document, where, sha256)
        return _judgement(document, subject)
    except (_Contradiction, ValueError, RecursionError) as error:
        raise UnreadableResultError(
            str(error), where=where, sha256=sha256, subject=subject
        ) from None


def _read_bytes(path: Path, where: str) -> bytes:
    try:
        facts = path.stat()
        what = None
        if not stat.S_ISREG(facts.st_mode):
            what = "not a regular file"  # a pipe would never end
        elif facts.st_size > MAX_BYTES:
            what = f"larger than {MAX_BYTES // 1024**2} MB"
        if what is not None:
            raise UnreadableResultError(what, where=where, sha256=sha256_hex(where.encode()))
        return path.read_bytes()
    except OSError as error:
        what = f"can't be read: {error.strerror or error}"
        raise UnreadableResultError(what, where=where, sha256=sha256_hex(where.encode())) from None


def _parse(data: bytes) -> Any:
    return json.loads(data, object_pairs_hook=_unique, parse_constant=lambda _: None)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The parser would keep the last of two equal keys: half of what the file says."""
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _subject(document: dict[str, Any], where: str, sha256: str) -> Subject:
    meta = _object(document, "meta", "$.meta")
    suite = document.get("suite_name", meta.get("expectation_suite_name"))
    if not isinstance(suite, str) or not suite:
        _refuse("$.suite_name", "no suite is named")
    if len(suite) > _LONGEST_NAME:
        _refuse("$.suite_name", f"the suite's name has {len(suite):,} characters")
    suite.encode()  # a lone surrogate can't be stored; it raises a ValueError
    batch = _object(meta, "active_batch_definition", "$.meta.active_batch_definition")
    spec = _object(meta, "batch_spec", "$.meta.batch_spec")
    run = _object(meta, "run_id", "$.meta.run_id")
    observed_at, finished_at = _times(meta, run, where)
    schema, table = _physical(spec)
    return Subject(
        where=where,
        sha256=sha256,
        suite=suite,
        asset=_text(batch.get("data_asset_name")) or _text(spec.get("data_asset_name")),
        schema=schema,
        table=table,
        unique_ids=_explicit_ids(document),
        run_name=_text(run.get("run_name")),
        observed_at=observed_at,
        finished_at=finished_at,
        partial=_partial(meta, batch, spec),
        gx_version=_text(meta.get("great_expectations_version")),
    )


def _times(
    meta: dict[str, Any], run: dict[str, Any], where: str
) -> tuple[dt.datetime | None, dt.datetime | None]:
    """When the data was looked at, by the clock that a caller is least likely to have set."""
    loaded = moment(_object(meta, "batch_markers", "$.meta.batch_markers").get("ge_load_time"))
    told = [moment(run.get("run_time")), moment(meta.get("validation_time")), path_time(where)]
    observed = next((m for m in [loaded, *told] if m is not None), None)
    later = [m for m in told if m is not None and observed is not None and m > observed]
    return observed, max(later, default=observed)


def _physical(spec: dict[str, Any]) -> tuple[str | None, str | None]:
    table = _text(spec.get("table_name"))
    schema = _text(spec.get("schema_name"))
    if table and not schema and "." in table:
        schema, _, table = table.rpartition(".")
    return schema, table


def _partial(meta: dict[str, Any], batch: dict[str, Any], spec: dict[str, Any]) -> bool:
    """Whether the suite saw less than the whole relation.

    A batch of in-memory data has free labels as identifiers (GX 0.x asks for at least one), so
    there they say nothing about a partition.
    """
    if any(spec.get(key) for key in _PART_KEYS):
        return True
    if "batch_data" in spec:
        return False
    keys: set[str] = set()
    for source, name in ((batch, "batch_identifiers"), (meta, "batch_parameters")):
        found = source.get(name)
        keys |= set(found) if isinstance(found, dict) else set()
    return bool(keys - _WHOLE_KEYS)


def _explicit_ids(document: dict[str, Any]) -> tuple[str, ...]:
    found = set()
    rows = document.get("results")
    for row in rows if isinstance(rows, list) else []:
        config = row.get("expectation_config") if isinstance(row, dict) else None
        meta = config.get("meta") if isinstance(config, dict) else None
        named = _text(meta.get("dbt_unique_id")) if isinstance(meta, dict) else None
        if named:
            found.add(named)
    return tuple(sorted(found))


def _judgement(document: dict[str, Any], subject: Subject) -> GxResult:
    success = document.get("success")
    rows = document.get("results")
    if not isinstance(success, bool):
        _refuse("$.success", "`success` is missing or not true or false")
    if not isinstance(rows, list):
        _refuse("$.results", "`results` is missing or not a list")
    parsed = [_check(row, f"$.results[{index}]") for index, row in enumerate(rows)]
    passed = sum(check.outcome == "passed" for check, _, _ in parsed)
    _cross_check(document, success, passed, len(rows))
    seen = [count for _, count, _ in parsed if count is not None]
    checks = tuple(check for check, _, _ in parsed)
    return GxResult(
        subject=subject,
        success=success,
        checks=checks,
        counts=_count(checks),
        suite_sha=sha256_hex(canonical_json(sorted(config for _, _, config in parsed))),
        judged_rows=max(seen, default=None),
    )


def _cross_check(document: dict[str, Any], success: bool, passed: int, total: int) -> None:
    if success and passed < total:
        _refuse("$.success", f"`success` is true though {total - passed} of {total} did not pass")
    if not success and passed == total:
        _refuse("$.success", f"`success` is false though all {total} results passed")
    statistics = _object(document, "statistics", "$.statistics")
    expected = {
        "evaluated_expectations": total,
        "successful_expectations": passed,
        "unsuccessful_expectations": total - passed,
    }
    for key, value in expected.items():
        told = statistics.get(key, value)
        if isinstance(told, bool) or told != value:
            _refuse(f"$.statistics.{key}", f"`{key}` is {told!r}, the results say {value}")


def _check(row: Any, path: str) -> tuple[Check, int | None, str]:
    """One check, the rows it saw if it saw all, and its configuration in canonical form."""
    if not isinstance(row, dict) or not isinstance(row.get("success"), bool):
        _refuse(f"{path}.success", "a result without `success`")
    config = _object(row, "expectation_config", f"{path}.expectation_config")
    kind = _text(config.get("type")) or _text(config.get("expectation_type"))
    if not kind:
        _refuse(f"{path}.expectation_config.type", "a result without an expectation type")
    kwargs = _object(config, "kwargs", f"{path}.expectation_config.kwargs")
    result = _object(row, "result", f"{path}.result")
    raised = _raised(row.get("exception_info"), f"{path}.exception_info")
    if raised and row["success"]:
        _refuse(f"{path}.success", "a check that raised an exception is called a success")
    elements = _count_of(result, "element_count", path)
    unexpected = _count_of(result, "unexpected_count", path)
    if elements is not None and unexpected is not None and unexpected > elements:
        _refuse(f"{path}.result", f"{unexpected} of {elements} values are called unexpected")
    if unexpected and row["success"] and _tolerates_none(kind, kwargs):
        _refuse(f"{path}.success", f"a success though {unexpected} values are unexpected")
    check = Check(
        type=kind,
        column=_column(kwargs),
        # what GX may call it one day is not known: the strictest reading is the safe one
        severity=_SEVERITIES.get(_text(config.get("severity")), "critical"),
        outcome="error" if raised else "passed" if row["success"] else "failed",
        unexpected_count=unexpected,
        element_count=elements,
    )
    rows = _number(result.get("observed_value")) if kind in _ROW_COUNTS else elements
    plain = {key: value for key, value in kwargs.items() if key != "batch_id"}
    form = canonical_json({"type": kind, "kwargs": plain, "severity": check.severity}).decode()
    return check, None if kwargs.get("row_condition") else rows, form


def _raised(info: Any, path: str) -> bool:
    """Both shapes: one flat object, or one object per metric."""
    if info is None or info == {}:
        return False
    if not isinstance(info, dict):
        _refuse(path, "`exception_info` is not an object")
    nested = [v.get("raised_exception") for v in info.values() if isinstance(v, dict)]
    return any(told not in (None, False) for told in (info.get("raised_exception"), *nested))


def _tolerates_none(kind: str, kwargs: dict[str, Any]) -> bool:
    """A check of single values that must hold for all of them."""
    return kind.startswith("expect_column_values_to_") and kwargs.get("mostly") in (None, 1, 1.0)


def _count_of(result: dict[str, Any], key: str, path: str) -> int | None:
    """A count that is not told is None; one that is told must be one."""
    told = result.get(key)
    number = _number(told)
    if told is not None and number is None:
        _refuse(f"{path}.result.{key}", f"`{key}` is {str(told)[:40]!r}, which is no count")
    return number


def _column(kwargs: dict[str, Any]) -> str | None:
    """Names of columns only; other arguments may hold values of the data."""
    names = [kwargs.get(key) for key in ("column", "column_A", "column_B")]
    listed = kwargs.get("column_list")
    names += listed if isinstance(listed, list) else []
    texts = [_text(name) for name in names]
    return ", ".join(text for text in texts if text) or None


def _count(checks: tuple[Check, ...]) -> Counts:
    def tally(severity: Severity, *outcomes: Outcome) -> int:
        return sum(c.severity == severity and c.outcome in outcomes for c in checks)

    passed = [c for c in checks if c.outcome == "passed"]
    return Counts(
        evaluated=len(checks),
        passed=len(passed),
        failed_critical=tally("critical", "failed"),
        failed_warning=tally("warning", "failed", "error"),
        failed_info=tally("info", "failed", "error"),
        errors=tally("critical", "error"),
        vacuous=sum(c.element_count == 0 for c in passed),
    )


def _object(parent: dict[str, Any], key: str, path: str) -> dict[str, Any]:
    found = parent.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        _refuse(path, f"`{key}` is not an object")
    return found


def _text(value: Any) -> str | None:
    if not isinstance(value, str) or not value:
        return None
    value.encode()  # a lone surrogate can't be stored; it raises a ValueError
    return value


def _number(value: Any) -> int | None:
    """Counts only: GX writes them as integers, some engines as whole floats."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if value >= 0 and value == value // 1 and value < 2**63 else None


def _refuse(path: str, text: str) -> NoReturn:
    raise _Contradiction(path, text)
