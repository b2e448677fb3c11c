"""Makes evidence of a Great Expectations result: bound to the data that it judged, or a doubt."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from dbt_snapshot_plugin.bridges.gx_results import Check, GxResult, Subject
from dbt_snapshot_plugin.model.ids import format_time
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.qa import Code, Counts, Evidence
from dbt_snapshot_plugin.ops.binding import Compared, Placed, Times, Unplaced, compare, place
from dbt_snapshot_plugin.ops.desk import Desk, Desks
from dbt_snapshot_plugin.ops.mapping import Mapped, Unmapped

ITSELF = "0" * 64
"""Stands for the data of a result that is judged by itself, without a store."""

# They look at the schema, so on an empty table, too, they say something.
_OF_THE_SCHEMA = frozenset(
    {
        "expect_column_to_exist",
        "expect_column_values_to_be_of_type",
        "expect_column_values_to_be_in_type_list",
    }
)


def bind(
    result: GxResult, desks: Desks, about: Mapped, report: str, now: dt.datetime
) -> Evidence | Unmapped:
    """The evidence of a result; Unmapped if it belongs to the same dataset in another env."""
    desk = desks.of(about.known.dataset)
    subject = result.subject
    base = _judged(result, about.by, report, now)
    times = Times(subject.observed_at, subject.finished_at)
    problem = times.problem(now)
    if problem is not None:
        return _doubt(base, "stale", problem, observed_at=None)
    placed = place(times, subject.run_name, desk.spans)
    strong = isinstance(placed, Placed) and placed.basis == "invocation"
    if not strong and (elsewhere := _elsewhere(subject, desks.twins(desk.dataset))):
        return elsewhere
    if isinstance(placed, Unplaced):
        return _doubt(base, placed.code, placed.reason)
    ended = placed.span.build.ended
    assert ended is not None
    assert ended.seq is not None
    manifest = desk.manifest(ended.seq)
    since = placed.span.since
    if manifest.source_type == "view" and since is not None:
        moved = desks.moved_below(manifest, since, times)
        if moved is not None:
            return _doubt(base, "stale", moved)
    return _against_snapshot(base, result, desk, manifest, placed)


def alone(result: GxResult, report: str, now: dt.datetime) -> Evidence:
    """What a result says by itself, whatever data it judged."""
    return msgspec.structs.replace(_judged(result, "none", report, now), data_sha=ITSELF)


def unreadable(
    subject: Subject, reason: str, mapped_by: str, report: str, now: dt.datetime
) -> Evidence:
    """A doubt, so that an older pass of the same suite does not stand unopposed."""
    believable = Times(subject.observed_at, subject.finished_at).problem(now) is None
    return Evidence(
        source="gx",
        suite=subject.suite,
        suite_sha="",
        report=report,
        report_sha256=subject.sha256,
        observed_at=_time(subject) if believable else None,
        counts=Counts(),
        failed=[],
        mapped_by=mapped_by,
        partial=subject.partial,
        code="unreadable",
        reason=f"its report can't be read: {reason}",
        ingested_at=format_time(now),
    )


def _judged(result: GxResult, mapped_by: str, report: str, now: dt.datetime) -> Evidence:
    subject = result.subject
    return Evidence(
        source="gx",
        suite=subject.suite,
        suite_sha=result.suite_sha,
        report=report,
        report_sha256=subject.sha256,
        observed_at=_time(subject),
        counts=result.counts,
        failed=result.failed,
        mapped_by=mapped_by,
        partial=subject.partial,
        ingested_at=format_time(now),
    )


def _time(subject: Subject) -> str | None:
    return format_time(subject.observed_at) if subject.observed_at is not None else None


def _doubt(base: Evidence, code: Code, reason: str, **others: Any) -> Evidence:
    return msgspec.structs.replace(base, code=code, reason=reason, **others)


def _elsewhere(subject: Subject, twins: list[Desk]) -> Unmapped | None:
    """One result judged one relation: it can't count for two envs."""
    for twin in twins:
        run = subject.run_name
        if run is not None and any(span.invocation_id == run for span in twin.spans):
            return Unmapped(f"it names a dbt run that built {twin.dataset}", "ambiguous")
        if twin.counts(subject.sha256):
            return Unmapped(f"it already counts for {twin.dataset}", "ambiguous")
    return None


def _against_snapshot(
    base: Evidence, result: GxResult, desk: Desk, manifest: Manifest, placed: Placed
) -> Evidence:
    """The last check: numbers that the result and the snapshot must agree on."""
    compared: Compared
    ended = placed.span.build.ended
    is_last = placed.span is desk.spans[0] and manifest.seq == desk.head_seq
    compared, mismatch = compare(
        manifest,
        ended.source_files if ended is not None else None,
        None if result.subject.partial else result.judged_rows,
        (lambda: desk.live) if is_last else None,
    )
    if mismatch is not None:
        return _doubt(base, "stale", mismatch, compared=compared)
    return msgspec.structs.replace(
        base,
        data_sha=manifest.data_sha,
        basis=placed.basis,
        compared=compared,
        counts=_on_rows(result, manifest.num_rows),
    )


def _on_rows(result: GxResult, num_rows: int | None) -> Counts:
    """The snapshot knows of an empty table even if the result (BOOLEAN_ONLY) does not tell."""
    if num_rows != 0:
        return result.counts
    vacuous = sum(_is_vacuous(check) for check in result.checks if check.outcome == "passed")
    return msgspec.structs.replace(result.counts, vacuous=vacuous)


def _is_vacuous(check: Check) -> bool:
    about_rows = check.column is not None and check.type not in _OF_THE_SCHEMA
    return check.element_count == 0 or about_rows
