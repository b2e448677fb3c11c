"""The fold: in which order its rules decide, and which result of a suite speaks."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_snapshot_plugin.model.codec import sha256_hex
from dbt_snapshot_plugin.model.qa import Counts, Evidence, FailedCheck, describe, fold
from tests.factories import clock, make_evidence

DATA, OTHER = sha256_hex(b"data"), sha256_hex(b"other")


def passed(minute: float = 5, **fields: Any) -> Evidence:
    return make_evidence(DATA, minute=minute, **fields)


def failed(minute: float = 5, **fields: Any) -> Evidence:
    return make_evidence(DATA, minute=minute, passed=False, **fields)


def doubt(minute: float | None = 5, code: str = "stale", **fields: Any) -> Evidence:
    observed = clock(minute) if minute is not None else None
    return make_evidence(
        None,
        minute=minute or 0,
        **{"code": code, "reason": "so", "observed_at": observed} | fields,
    )


def broken(severity: str, **counts: int) -> Evidence:
    check = FailedCheck(check="c", severity=severity, outcome="error")  # type: ignore[arg-type]
    return passed(counts=Counts(evaluated=1, **counts), failed=[check])


def verdict(*evidence: Evidence) -> tuple[str, list[str]]:
    found = fold(list(evidence), DATA)
    return found.state, [reason.code for reason in found.reasons]


@pytest.mark.parametrize(
    ("evidence", "state", "codes"),
    [
        ([], "UNKNOWN", ["unchecked"]),
        ([passed()], "PASS", []),
        ([failed()], "FAIL", ["failed"]),
        # a critical failure wins over every doubt, a doubt over every pass
        ([failed(suite="a"), doubt(suite="b"), passed(suite="c")], "FAIL", ["failed", "stale"]),
        ([doubt(suite="a"), passed(suite="b")], "UNKNOWN", ["stale"]),
        ([passed(suite="a"), passed(suite="b")], "PASS", []),
        ([doubt(code="unreadable")], "UNKNOWN", ["unreadable"]),
        ([doubt(code="uncaptured")], "UNKNOWN", ["uncaptured"]),
        # errors count as not passed, but only a critical one fails
        ([broken("critical", errors=1)], "FAIL", ["failed"]),
        ([broken("warning", failed_warning=1)], "UNKNOWN", ["skipped"]),
        ([passed(counts=Counts(evaluated=0))], "UNKNOWN", ["skipped"]),
        ([passed(counts=Counts(evaluated=1, failed_warning=1))], "PASS", []),
        ([passed(counts=Counts(evaluated=1, failed_info=1))], "PASS", []),
        # passing on 0 rows is no judgement, unless something else was judged
        ([passed(counts=Counts(evaluated=2, passed=2, vacuous=2))], "UNKNOWN", ["skipped"]),
        ([passed(counts=Counts(evaluated=2, passed=2, vacuous=1))], "PASS", []),
        # a part of the data can fail it, not pass it alone
        ([passed(partial=True)], "UNKNOWN", ["skipped"]),
        ([failed(partial=True)], "FAIL", ["failed"]),
        ([passed(partial=True, suite="a"), passed(suite="b")], "PASS", []),
        ([passed(partial=True, suite="a"), doubt(suite="b")], "UNKNOWN", ["stale", "skipped"]),
        # the suite judged earlier data only
        ([make_evidence(OTHER)], "UNKNOWN", ["stale"]),
        ([make_evidence(OTHER, passed=False)], "UNKNOWN", ["stale"]),
        ([make_evidence(OTHER, suite="a"), passed(suite="b")], "UNKNOWN", ["stale"]),
    ],
)
def test_rules(evidence: list[Evidence], state: str, codes: list[str]) -> None:
    assert verdict(*evidence) == (state, codes)
    assert verdict(*reversed(evidence)) == (state, codes)


@pytest.mark.parametrize(
    ("evidence", "state"),
    [
        ([passed(5), failed(6)], "FAIL"),
        ([failed(5), passed(6)], "PASS"),
        ([passed(5), doubt(6)], "UNKNOWN"),
        ([doubt(5), passed(6)], "PASS"),
        # of two at the same time the worse decides
        ([passed(5), failed(5)], "FAIL"),
        ([passed(5), doubt(5)], "UNKNOWN"),
        ([doubt(5), failed(5)], "FAIL"),
        # newer results of other data do not disturb, and older data that comes back keeps its own
        ([passed(5), make_evidence(OTHER, minute=6, passed=False)], "PASS"),
        ([failed(5), make_evidence(OTHER, minute=6)], "FAIL"),
        # no time: as late as it can have been made, or always the newest
        ([passed(5), doubt(None, ingested_at=clock(4))], "PASS"),
        ([passed(5), doubt(None, ingested_at=clock(6))], "UNKNOWN"),
        ([passed(5), doubt(None)], "UNKNOWN"),
    ],
)
def test_the_latest_result_of_a_suite_speaks(evidence: list[Evidence], state: str) -> None:
    assert verdict(*evidence)[0] == state
    assert verdict(*reversed(evidence))[0] == state


def test_the_same_suite_of_another_source_is_another_suite() -> None:
    assert verdict(failed(5, source="dbt_test"), passed(6))[0] == "FAIL"


def test_a_report_that_was_bound_later_is_no_doubt_any_more() -> None:
    sha = sha256_hex(b"report")
    late = passed(5, report_sha256=sha)
    assert verdict(doubt(5, code="uncaptured", report_sha256=sha), late) == ("PASS", [])
    elsewhere = make_evidence(OTHER, minute=5, report_sha256=sha)
    assert verdict(passed(4), doubt(5, report_sha256=sha), elsewhere) == ("PASS", [])


class TestSuiteThatChanged:
    """Identical data keeps its verdict, but only that of the same checks."""

    def test_a_pass_of_other_checks_is_stale(self) -> None:
        new = make_evidence(OTHER, minute=6, suite_sha=sha256_hex(b"v2"))
        assert verdict(passed(5), new) == ("UNKNOWN", ["stale"])

    def test_a_failure_stays_one(self) -> None:
        new = make_evidence(OTHER, minute=6, suite_sha=sha256_hex(b"v2"))
        assert verdict(failed(5), new)[0] == "FAIL"

    def test_what_it_was_before_does_not_matter(self) -> None:
        old = make_evidence(OTHER, minute=4, suite_sha=sha256_hex(b"v0"))
        assert verdict(old, passed(5))[0] == "PASS"


def test_uncaptured_ends_every_verdict() -> None:
    found = fold([failed()], DATA, uncaptured="the build has not ended")
    assert (found.state, found.reasons[0].code) == ("UNKNOWN", "uncaptured")


def test_summary_and_invariants() -> None:
    counts = Counts(evaluated=8, passed=7, failed_warning=1)
    found = fold([passed(counts=counts)], DATA)
    assert found.summary == "7 of 8 checks passed, 1 warning(s)"
    assert found.invariants == {
        "suites": 1,
        "checks_evaluated": 8,
        "checks_passed": 7,
        "warnings": 1,
    }
    assert (found.provisional, fold([], DATA).provisional) == (False, True)


def test_a_long_list_of_failures_is_cut() -> None:
    check = FailedCheck(check="c", severity="critical", outcome="failed")
    found = fold([failed(failed=[check] * 50)], DATA)
    assert found.reasons[0].text.endswith("(+45 more)")
    assert len(found.suites[0].failed) == 50


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "c failed"),
        ({"column": "amount"}, "c(amount) failed"),
        ({"outcome": "error"}, "c could not be evaluated"),
        ({"unexpected_count": 1200, "element_count": 5000}, "c failed on 1,200 of 5,000 rows"),
        ({"unexpected_count": 1}, "c failed"),
        ({"unexpected_count": 0, "element_count": 0}, "c failed"),
    ],
)
def test_one_failed_check_in_words(fields: dict[str, Any], text: str) -> None:
    values = {"check": "c", "severity": "critical", "outcome": "failed"} | fields
    assert describe(FailedCheck(**values)) == text
