"""QA evidence and the fold that turns it into PASS, FAIL or UNKNOWN."""

from __future__ import annotations

from typing import Literal

from dbt_snapshot_plugin.model.codec import Record

State = Literal["PASS", "FAIL", "UNKNOWN"]
Code = Literal[
    "unchecked", "stale", "unreadable", "ambiguous", "uncaptured", "expired", "skipped", "failed"
]
Severity = Literal["critical", "warning", "info"]
Basis = Literal["data_sha", "invocation", "time"]


class Counts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How the checks of one result went."""

    evaluated: int = 0
    passed: int = 0
    failed_critical: int = 0
    failed_warning: int = 0
    failed_info: int = 0
    errors: int = 0
    """Critical checks that could not be evaluated; they count as not passed."""
    vacuous: int = 0
    """Checks that passed on 0 rows."""


class FailedCheck(Record, frozen=True, kw_only=True):
    """One check that did not pass; never holds values of the data."""

    check: str
    column: str | None = None
    severity: Severity
    outcome: Literal["failed", "error"]
    unexpected_count: int | None = None
    element_count: int | None = None


class Evidence(Record, frozen=True, kw_only=True, tag_field="kind", tag="evidence"):
    """One QA result, bound to the data it judged, or the reason why it is bound to none."""

    source: Literal["gx", "dbt_test"]
    suite: str
    suite_sha: str
    report: str
    report_sha256: str
    observed_at: str | None
    counts: Counts
    failed: list[FailedCheck]
    mapped_by: str
    data_sha: str | None = None
    basis: Basis | None = None
    compared: Literal["rows", "listing", "rows+listing", "not_compared"] = "not_compared"
    partial: bool = False
    code: Code | None = None
    """Why this result counts for no data; absent when it is bound."""
    reason: str | None = None

    @property
    def failed_critically(self) -> bool:
        return self.counts.failed_critical > 0 or self.counts.errors > 0


class Reason(Record, frozen=True, kw_only=True):
    code: Code
    text: str


class SuiteState(Record, frozen=True, kw_only=True):
    """What one suite says of one snapshot."""

    suite: str
    state: State
    basis: Basis | None = None
    observed_at: str | None = None
    counts: Counts | None = None
    failed: list[FailedCheck] = []


class QaStatus(Record, frozen=True, kw_only=True):
    """The PRD's object, plus why."""

    state: State
    summary: str
    invariants: dict[str, int | float]
    provisional: bool
    reasons: list[Reason] = []
    suites: list[SuiteState] = []


def fold(evidence: list[Evidence], data_sha: str, *, uncaptured: str | None = None) -> QaStatus:
    """The verdict on the data with this `data_sha`.

    Order matters: a critical failure wins over everything; any doubt comes before a pass.
    `uncaptured` names why the relation may no longer hold this data at all.
    """
    if uncaptured is not None:
        return _status("UNKNOWN", [Reason(code="uncaptured", text=uncaptured)], [])
    suites: list[SuiteState] = []
    failures: list[Reason] = []
    doubts: list[Reason] = []
    for suite in sorted({e.suite for e in evidence}):
        latest = _deciding([e for e in evidence if e.suite == suite], data_sha)
        state, reason = _judge(suite, latest, data_sha)
        suites.append(_suite_state(suite, state, latest))
        if state == "FAIL" and reason:
            failures.append(reason)
        elif reason:
            doubts.append(reason)
    if failures:
        return _status("FAIL", failures + doubts, suites)
    if doubts:
        return _status("UNKNOWN", doubts, suites)
    if any(s.state == "PASS" for s in suites):
        return _status("PASS", [], suites)
    return _status("UNKNOWN", [Reason(code="unchecked", text="no suite has judged it")], suites)


def _deciding(of_suite: list[Evidence], data_sha: str) -> Evidence:
    """The newest result that is about this data or about no known data, else the newest at all.

    A newer result of *other* data does not disturb the verdict on this data, but one that could
    not be read or placed might have been about it, so it must not let an older pass win.
    """
    ordered = sorted(of_suite, key=lambda e: (e.observed_at or "~", e.report_sha256))
    relevant = [e for e in ordered if e.data_sha == data_sha or e.data_sha is None]
    return (relevant or ordered)[-1]


def _judge(suite: str, latest: Evidence, data_sha: str) -> tuple[State, Reason | None]:
    counts = latest.counts
    if latest.data_sha is None:
        text = f"suite {suite}: {latest.reason or 'its result belongs to no known data'}"
        return "UNKNOWN", Reason(code=latest.code or "stale", text=text)
    if latest.data_sha != data_sha:
        text = f"suite {suite} judged an earlier version and has not judged this data"
        return "UNKNOWN", Reason(code="stale", text=text)
    if latest.failed_critically:
        names = ", ".join(describe(c) for c in latest.failed if c.severity == "critical")
        return "FAIL", Reason(code="failed", text=f"suite {suite}: {names}")
    if latest.partial:
        text = f"suite {suite} judged only a part of the data"
        return "UNKNOWN", Reason(code="skipped", text=text)
    if counts.evaluated == 0:
        return "UNKNOWN", Reason(code="skipped", text=f"suite {suite} evaluated no expectation")
    return "PASS", None


def describe(check: FailedCheck) -> str:
    """One failed check in a few words, without any value of the data."""
    name = f"{check.check}({check.column})" if check.column else check.check
    if check.outcome == "error":
        return f"{name} could not be evaluated"
    if check.unexpected_count is not None and check.element_count:
        return f"{name} failed on {check.unexpected_count:,} of {check.element_count:,} rows"
    return f"{name} failed"


def _suite_state(suite: str, state: State, latest: Evidence) -> SuiteState:
    return SuiteState(
        suite=suite,
        state=state,
        basis=latest.basis,
        observed_at=latest.observed_at,
        counts=latest.counts,
        failed=latest.failed,
    )


def _status(state: State, reasons: list[Reason], suites: list[SuiteState]) -> QaStatus:
    judged = [s for s in suites if s.state != "UNKNOWN" and s.counts is not None]
    totals = {
        "suites": len(suites),
        "checks_evaluated": sum(s.counts.evaluated for s in judged if s.counts),
        "checks_passed": sum(s.counts.passed for s in judged if s.counts),
        "warnings": sum(s.counts.failed_warning for s in judged if s.counts),
    }
    if reasons:
        summary = "; ".join(r.text for r in reasons[:3])
        if len(reasons) > 3:
            summary += f" (+{len(reasons) - 3} more)"
    else:
        summary = f"{totals['checks_passed']} of {totals['checks_evaluated']} checks passed"
        if totals["warnings"]:
            summary += f", {totals['warnings']} warning(s)"
    invariants: dict[str, int | float] = dict(totals) if suites else {}
    return QaStatus(
        state=state,
        summary=summary,
        invariants=invariants,
        provisional=state != "PASS",
        reasons=reasons,
        suites=suites,
    )


UNCHECKED = fold([], "")
