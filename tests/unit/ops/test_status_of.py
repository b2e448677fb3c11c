"""The effective verdict: what is known now of the data that a snapshot holds."""

from __future__ import annotations

import pytest

from dbt_snapshot_plugin.model.manifest import SCHEMA_ALGO, Manifest
from dbt_snapshot_plugin.model.qa import QaStatus, State
from dbt_snapshot_plugin.ops.status_of import combined_status, effective_status
from dbt_snapshot_plugin.store.repository import Repository
from tests.factories import ORDERS, STAGING, add_build, add_evidence, add_snapshot, memory_store


@pytest.fixture
def repo() -> Repository:
    return memory_store(0)


def test_nobody_checked_it(repo: Repository) -> None:
    status = effective_status(repo, add_snapshot(repo))
    assert (status.state, [r.code for r in status.reasons]) == ("UNKNOWN", ["unchecked"])


def test_a_result_counts_as_soon_as_it_is_there(repo: Repository) -> None:
    manifest = add_snapshot(repo)
    add_evidence(repo, manifest)
    assert effective_status(repo, manifest).state == "PASS"
    add_evidence(repo, manifest, suite="another", passed=False)
    assert effective_status(repo, manifest).state == "FAIL"


def test_new_data_loses_the_verdict(repo: Repository) -> None:
    add_evidence(repo, add_snapshot(repo, rows=3))
    status = effective_status(repo, add_snapshot(repo, rows=4))
    assert (status.state, [r.code for r in status.reasons]) == ("UNKNOWN", ["stale"])


def test_the_same_data_keeps_it(repo: Repository) -> None:
    add_evidence(repo, add_snapshot(repo, rows=3))
    again = add_snapshot(repo, rows=3, message="only the text is new")
    assert again.change == "metadata"
    assert effective_status(repo, again).state == "PASS"


@pytest.mark.parametrize("end", [True, False], ids=["failed", "still running"])
def test_a_build_without_a_capture_takes_it_away(repo: Repository, end: bool) -> None:
    manifest = add_snapshot(repo)
    add_evidence(repo, manifest)
    add_build(repo, ORDERS, minute=50, end=end)
    status = effective_status(repo, manifest)
    assert (status.state, [r.code for r in status.reasons]) == ("UNKNOWN", ["uncaptured"])


def test_a_node_that_dbt_skipped_does_not(repo: Repository) -> None:
    manifest = add_snapshot(repo)
    add_evidence(repo, manifest)
    add_build(repo, ORDERS, minute=50, status="skipped", outcome="skipped")
    assert effective_status(repo, manifest).state == "PASS"


def test_a_later_suite_does_not_change_what_was_known_of_an_old_snapshot(
    repo: Repository,
) -> None:
    old = add_snapshot(repo, rows=3)
    add_evidence(repo, old)
    new = add_snapshot(repo, rows=4)
    add_evidence(repo, new, suite="introduced_later", passed=False)
    assert effective_status(repo, old).state == "PASS"


def status(state: State) -> QaStatus:
    return QaStatus(
        state=state, summary=f"is {state}", invariants={"checks": 1}, provisional=state != "PASS"
    )


@pytest.mark.parametrize(
    ("states", "combined"),
    [
        (["PASS", "PASS"], "PASS"),
        (["PASS", "UNKNOWN"], "UNKNOWN"),
        (["UNKNOWN", "FAIL", "PASS"], "FAIL"),
        ([], "UNKNOWN"),
    ],
)
def test_several_datasets_as_one(states: list[State], combined: State) -> None:
    found = combined_status([(f"d{i}", status(state)) for i, state in enumerate(states)])
    assert found.state == combined
    assert found.provisional is (combined != "PASS")
    assert set(found.invariants) == {f"d{i}.checks" for i in range(len(states))}


def test_the_summary_names_the_worst_three() -> None:
    states: list[State] = ["UNKNOWN", "FAIL", "UNKNOWN", "FAIL", "PASS"]
    found = combined_status([(f"d{i}", status(state)) for i, state in enumerate(states)])
    assert (
        found.summary
        == "d1: FAIL (is FAIL); d3: FAIL (is FAIL); d0: UNKNOWN (is UNKNOWN) (+1 more)"
    )


class TestViews:
    """A view shows other data as soon as what it reads is built anew."""

    @pytest.fixture
    def parent(self, repo: Repository) -> Manifest:
        return add_snapshot(repo, STAGING, rows=3)

    @pytest.fixture
    def view(self, repo: Repository, parent: Manifest) -> Manifest:
        made = add_snapshot(repo, parents=[parent], source_type="view", materialization="view")
        add_evidence(repo, made)
        assert effective_status(repo, made).state == "PASS"
        return made

    def test_other_data_below_takes_the_verdict_away(
        self, repo: Repository, view: Manifest
    ) -> None:
        add_snapshot(repo, STAGING, rows=4)
        status = effective_status(repo, view)
        assert (status.state, [r.code for r in status.reasons]) == ("UNKNOWN", ["uncaptured"])
        assert "model.shop.stg_orders below it was built anew" in status.summary

    def test_an_equal_rebuild_below_does_not(
        self, repo: Repository, parent: Manifest, view: Manifest
    ) -> None:
        add_build(repo, STAGING, parent, minute=50)
        assert effective_status(repo, view).state == "PASS"

    def test_a_failed_build_below_does(self, repo: Repository, view: Manifest) -> None:
        add_build(repo, STAGING, minute=50)
        assert effective_status(repo, view).state == "UNKNOWN"

    def test_a_table_keeps_its_rows_whatever_is_below(
        self, repo: Repository, parent: Manifest
    ) -> None:
        table = add_snapshot(repo, parents=[parent])
        add_evidence(repo, table)
        add_snapshot(repo, STAGING, rows=4)
        assert effective_status(repo, table).state == "PASS"


def test_a_schema_alone_carries_no_verdict_over_a_rebuild(repo: Repository) -> None:
    """Its data_sha is the same for other rows."""
    manifest = add_snapshot(repo, hash_algo=SCHEMA_ALGO, depth="schema", profile=None)
    add_evidence(repo, manifest)
    assert effective_status(repo, manifest).state == "PASS"
    add_build(repo, ORDERS, manifest, minute=50)
    status = effective_status(repo, manifest)
    assert (status.state, [r.code for r in status.reasons]) == ("UNKNOWN", ["stale"])
    add_evidence(repo, manifest, minute=60)
    assert effective_status(repo, manifest).state == "PASS"
