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
    """When the data was looked at; None where the report names no time that can be believed."""
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
    ingested_at: str | None = None
    """When it was taken in, by our own clock: the data can't have been looked at any later."""

    @property
    def failed_critically(self) -> bool:
        return self.counts.failed_critical > 0 or self.counts.errors > 0

    @property
    def report_id(self) -> tuple[str, str, str]:
        """One report of one suite; broken reports of two suites can have the same bytes."""
        return self.source, self.suite, self.report_sha256

    @property
    def latest_at(self) -> str | None:
        """The latest time at which the data can have been looked at."""
        return self.observed_at or self.ingested_at

    @property
    def judged(self) -> int:
        """How many checks said something of the data: they ran, and there were rows to look at."""
        errors = sum(check.outcome == "error" for check in self.failed)
        return self.counts.evaluated - self.counts.vacuous - errors


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
    parts: list[Reason] = []
    for of_suite in _by_suite(evidence):
        latest = _deciding(of_suite, data_sha)
        state, reason = _judge(latest, data_sha, changed=_suite_changed(of_suite, latest))
        suites.append(_suite_state(state, latest))
        if reason is not None:
            only_a_part = state == "UNKNOWN" and reason.code == "skipped" and latest.partial
            kind = failures if state == "FAIL" else parts if only_a_part else doubts
            kind.append(reason)
    if failures:
        return _status("FAIL", failures + doubts + parts, suites)
    if doubts:
        return _status("UNKNOWN", doubts + parts, suites)
    if any(s.state == "PASS" for s in suites):
        return _status("PASS", [], suites)
    unchecked = Reason(code="unchecked", text="no suite has judged it")
    return _status("UNKNOWN", parts or [unchecked], suites)


def _by_suite(evidence: list[Evidence]) -> list[list[Evidence]]:
    """The results of each suite, oldest first; of two at one time the worse comes later.

    A report that could not be bound when it was first taken in, but was later, is bound.
    """
    bound = {e.report_id for e in evidence if e.data_sha is not None}
    suites: dict[tuple[str, str], list[Evidence]] = {}
    for item in sorted(evidence, key=_age):
        if item.data_sha is not None or item.report_id not in bound:
            suites.setdefault((item.suite, item.source), []).append(item)
    return [suites[key] for key in sorted(suites)]


def _age(item: Evidence) -> tuple[str, int, str]:
    """What has no time at all counts as the newest: it must not lose against an older pass."""
    badness = 2 if item.failed_critically else 1 if item.data_sha is None or item.partial else 0
    return item.latest_at or "~", badness, item.report_sha256


def _deciding(of_suite: list[Evidence], data_sha: str) -> Evidence:
    """The newest result that is about this data or about no known data, else the newest at all.

    A newer result of *other* data does not disturb the verdict on this data, but one that could
    not be read or placed might have been about it, so it must not let an older pass win.
    """
    relevant = [e for e in of_suite if e.data_sha == data_sha or e.data_sha is None]
    return (relevant or of_suite)[-1]


def _suite_changed(of_suite: list[Evidence], latest: Evidence) -> bool:
    """Whether the suite has got other checks since: its old verdict is no verdict of the new."""
    newest = next((e for e in reversed(of_suite) if e.suite_sha), latest)
    return newest.suite_sha != latest.suite_sha


def _judge(latest: Evidence, data_sha: str, *, changed: bool) -> tuple[State, Reason | None]:
    suite = f"suite {latest.suite}"
    if latest.data_sha is None:
        text = f"{suite}: {latest.reason or 'its result belongs to no known data'}"
        return "UNKNOWN", Reason(code=latest.code or "stale", text=text)
    if latest.data_sha != data_sha:
        text = f"{suite} judged an earlier version and has not judged this data"
        return "UNKNOWN", Reason(code="stale", text=text)
    if latest.failed_critically:
        return "FAIL", Reason(code="failed", text=f"{suite}: {_failures(latest)}")
    if changed:
        text = f"{suite} has other checks since it judged this data"
        return "UNKNOWN", Reason(code="stale", text=text)
    if latest.judged <= 0:
        return "UNKNOWN", Reason(code="skipped", text=f"{suite} {_nothing_judged(latest)}")
    if latest.partial:
        return "UNKNOWN", Reason(code="skipped", text=f"{suite} judged only a part of the data")
    return "PASS", None


def _failures(latest: Evidence) -> str:
    critical = [describe(c) for c in latest.failed if c.severity == "critical"]
    more = f" (+{len(critical) - 5} more)" if len(critical) > 5 else ""
    return ", ".join(critical[:5]) + more


def _nothing_judged(latest: Evidence) -> str:
    if latest.counts.vacuous:
        return f"found no rows to judge: {latest.counts.vacuous} check(s) passed on 0 rows"
    return "evaluated no expectation"


def describe(check: FailedCheck) -> str:
    """One failed check in a few words, without any value of the data."""
    name = f"{check.check}({check.column})" if check.column else check.check
    if check.outcome == "error":
        return f"{name} could not be evaluated"
    if check.unexpected_count is not None and check.element_count:
        return f"{name} failed on {check.unexpected_count:,} of {check.element_count:,} rows"
    return f"{name} failed"


def _suite_state(state: State, latest: Evidence) -> SuiteState:
    return SuiteState(
        suite=latest.suite,
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
