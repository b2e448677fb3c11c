"""`qa ingest`: every file ends in a row, is stored once, and broken ones are doubts."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from dbt_snapshot_plugin.model.codec import to_plain
from dbt_snapshot_plugin.model.graph import Graph
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.schemas import load_schema
from dbt_snapshot_plugin.ops.ingest import Ingestion, ingest
from dbt_snapshot_plugin.ops.status_of import Verdicts
from dbt_snapshot_plugin.store.repository import Repository
from tests.factories import CUSTOMERS, ENV, ORDERS, add_snapshot, memory_store
from tests.unit.qa.build import (
    NESTED_ERROR,
    check,
    compact,
    content,
    document,
    failing,
    make_graph,
    make_node,
    put,
    put_suite,
    row_count,
)


@pytest.fixture
def repo() -> Repository:
    """fct_orders with one snapshot of 3 rows, built from minute 8.5 to 9.5."""
    return memory_store(1)


def run(repo: Repository | None, *paths: Path, graph: Graph | None = None) -> Ingestion:
    return ingest(repo, list(paths), env=ENV, graph=graph)


def head(repo: Repository) -> Manifest:
    found = repo.history(ORDERS).head()
    assert found is not None
    return found


def verdict(repo: Repository) -> tuple[str, list[str]]:
    status = Verdicts(repo, ORDERS).of(head(repo))
    return status.state, [reason.code for reason in status.reasons]


class TestOnce:
    def test_the_same_file_twice_is_one_event(self, repo: Repository, tmp_path: Path) -> None:
        path = put(tmp_path, document())
        first, second = run(repo, path), run(repo, path)
        assert [(r.stored, r.known) for r in first.rows] == [(True, False)]
        assert [(r.stored, r.known) for r in second.rows] == [(False, True)]
        assert first.to_dict() == second.to_dict()
        assert len(repo.events(ORDERS).evidence()) == 1

    def test_and_twice_in_one_go(self, repo: Repository, tmp_path: Path) -> None:
        put(tmp_path, document())
        put(tmp_path, document(), name="copy")
        assert [r.stored for r in run(repo, tmp_path).rows] == [True, False]

    def test_it_still_counts_for_what_it_judged(self, repo: Repository, tmp_path: Path) -> None:
        path = put(tmp_path, document())
        run(repo, path)
        add_snapshot(repo, ORDERS, rows=9)
        row = run(repo, path).rows[0]
        assert (row.state, row.known) == ("PASS", True)
        assert verdict(repo) == ("UNKNOWN", ["stale"])

    def test_a_dry_run_writes_nothing(self, repo: Repository, tmp_path: Path) -> None:
        done = ingest(repo, [put(tmp_path, document())], env=ENV, dry_run=True)
        assert (done.rows[0].state, done.rows[0].basis) == ("PASS", "time")
        assert repo.events(ORDERS).evidence() == []

    def test_events_are_what_the_schema_says(self, repo: Repository, tmp_path: Path) -> None:
        put(tmp_path, failing())
        put(tmp_path, document(check(error=NESTED_ERROR)), minute=16)
        put(tmp_path, b"{", minute=17)
        put_suite(tmp_path, "orders_suite", ORDERS.unique_id)
        assert sum(row.stored for row in run(repo, tmp_path).rows) == 3
        events = repo.events(ORDERS)
        schema = load_schema("event")
        for key in events.keys("evidence"):
            jsonschema.validate(to_plain(events.read(key)), schema)

    def test_what_is_kept_of_a_result(self, repo: Repository, tmp_path: Path) -> None:
        put_suite(tmp_path, "orders_suite", ORDERS.unique_id)
        run(repo, put(tmp_path, failing(finished=16)))
        [evidence] = repo.events(ORDERS).evidence()
        plain = to_plain(evidence)
        for name in ("report", "report_sha256", "suite_sha", "ingested_at"):
            assert plain.pop(name)
        assert plain == {
            "kind": "evidence",
            "source": "gx",
            "suite": "orders_suite",
            "observed_at": "2025-01-05T14:15:00.000000Z",
            "counts": {
                "evaluated": 2,
                "passed": 1,
                "failed_critical": 1,
                "failed_warning": 0,
                "failed_info": 0,
                "errors": 0,
                "vacuous": 0,
            },
            "failed": [
                {
                    "check": "expect_column_values_to_not_be_null",
                    "column": "email",
                    "severity": "critical",
                    "outcome": "failed",
                    "unexpected_count": 1,
                    "element_count": 3,
                }
            ],
            "mapped_by": "meta",
            "data_sha": head(repo).data_sha,
            "basis": "time",
            "compared": "rows",
        }


class TestMapping:
    def test_the_suite_of_the_project_names_the_dataset(
        self, repo: Repository, tmp_path: Path
    ) -> None:
        put_suite(tmp_path, "orders_suite", ORDERS.unique_id)
        row = run(repo, put(tmp_path, document(asset="anything"))).rows[0]
        assert row.dataset == str(ORDERS)

    def test_a_suite_that_cannot_be_read_is_no_reason_to_guess(
        self, repo: Repository, tmp_path: Path
    ) -> None:
        put_suite(tmp_path, "orders_suite", None).write_text("{")
        row = run(repo, put(tmp_path, document())).rows[0]
        assert (row.state, row.dataset, row.unreadable) == ("UNKNOWN", None, True)
        assert "the suite can't be read" in str(row.reason)

    def test_qa_map(self, repo: Repository, tmp_path: Path) -> None:
        path = put(tmp_path, document(asset="a", suite="b"), suite="b")
        row = ingest(repo, [path], env=ENV, mapping={"a": "fct_orders"}).rows[0]
        assert row.dataset == str(ORDERS)

    def test_nothing_fits(self, repo: Repository, tmp_path: Path) -> None:
        done = run(repo, put(tmp_path, document(asset="nobody", suite="x"), suite="x"))
        assert done.to_dict()["results"] == [
            {
                "file": str(next(tmp_path.rglob("*.json"))),
                "suite": "x",
                "dataset": None,
                "state": "UNKNOWN",
                "reason": "neither its suite nor its asset names a known dataset",
                "basis": None,
                "counts": {
                    "evaluated": 2,
                    "passed": 2,
                    "failed_critical": 0,
                    "failed_warning": 0,
                    "failed_info": 0,
                    "errors": 0,
                    "vacuous": 0,
                },
            }
        ]
        assert (len(done.unmapped), done.unreadable) == (1, [])

    def test_a_node_without_a_snapshot(self, repo: Repository, tmp_path: Path) -> None:
        graph = make_graph(make_node("new_model", relation="shop.new_model"))
        row = run(repo, put(tmp_path, document(asset="new_model")), graph=graph).rows[0]
        assert (row.state, row.code, row.stored) == ("UNKNOWN", "uncaptured", False)
        assert row.dataset == f"{ENV}/model.shop.new_model"

    @pytest.mark.parametrize(
        ("kind", "materialization", "mapped"),
        [
            ("source", "source", True),
            ("model", "ephemeral", False),
            ("test", "test", False),
        ],
    )
    def test_only_what_can_have_one(
        self, repo: Repository, tmp_path: Path, kind: str, materialization: str, mapped: bool
    ) -> None:
        graph = make_graph(make_node("other", kind, materialization=materialization))
        row = run(repo, put(tmp_path, document(asset="other")), graph=graph).rows[0]
        assert (row.dataset is not None) == mapped

    def test_the_store_knows_what_the_graph_has_forgotten(
        self, repo: Repository, tmp_path: Path
    ) -> None:
        row = run(repo, put(tmp_path, document()), graph=make_graph()).rows[0]
        assert row.state == "PASS"


class TestBroken:
    """A newer file that can't be read must not let an older pass stand."""

    @pytest.mark.parametrize("cut", [0, 1, 300, 1000])
    def test_the_path_tells_whose_it_is(self, repo: Repository, tmp_path: Path, cut: int) -> None:
        put_suite(tmp_path, "orders.daily", ORDERS.unique_id)
        run(repo, put(tmp_path, document(suite="orders.daily"), suite="orders.daily"))
        assert verdict(repo) == ("PASS", [])
        path = put(tmp_path, content(document())[:cut], suite="orders.daily", minute=20)
        done = run(repo, path)
        assert [(r.suite, r.dataset, r.unreadable, r.counts) for r in done.rows] == [
            ("orders.daily", str(ORDERS), True, None)
        ]
        assert verdict(repo) == ("UNKNOWN", ["unreadable"])

    def test_an_older_broken_file_does_not_disturb(self, repo: Repository, tmp_path: Path) -> None:
        put_suite(tmp_path, "orders_suite", ORDERS.unique_id)
        put(tmp_path, b"", minute=12)
        put(tmp_path, document())
        done = run(repo, tmp_path)
        assert len(done.unreadable) == 1
        assert verdict(repo) == ("PASS", [])

    def test_a_contradiction_still_says_whose_it_is(
        self, repo: Repository, tmp_path: Path
    ) -> None:
        run(repo, put(tmp_path, document()))
        path = tmp_path / "moved.json"
        path.write_bytes(content({**document(minute=20), "success": False}))
        row = run(repo, path).rows[0]
        assert (row.dataset, row.unreadable, row.stored) == (str(ORDERS), True, True)
        assert "`success` is false" in str(row.reason)
        assert verdict(repo) == ("UNKNOWN", ["unreadable"])

    def test_what_the_suite_has_judged_before_tells_it_too(
        self, repo: Repository, tmp_path: Path
    ) -> None:
        """Mapped by its asset, which a broken file does not say; the suite's name says nothing."""
        put(tmp_path, document(suite="nightly"), suite="nightly")
        put(tmp_path, b"{", suite="nightly", minute=20)
        done = run(repo, tmp_path)
        assert [(r.dataset, r.stored) for r in done.rows] == [(str(ORDERS), True)] * 2
        assert verdict(repo) == ("UNKNOWN", ["unreadable"])

    def test_unless_it_has_judged_several(self, repo: Repository, tmp_path: Path) -> None:
        add_snapshot(repo, CUSTOMERS)
        put(tmp_path, document(suite="nightly"), suite="nightly", name="a")
        put(tmp_path, document(suite="nightly", asset="dim_customers"), suite="nightly", name="b")
        run(repo, tmp_path)
        told = run(repo, put(tmp_path, b"{", suite="nightly", minute=20, name="b")).rows[0]
        assert told.dataset == str(CUSTOMERS)
        row = run(repo, put(tmp_path, b"{", suite="nightly", minute=21, name="c")).rows[0]
        assert (row.dataset, row.code, row.unreadable) == (None, "ambiguous", True)
        assert str(CUSTOMERS) in str(row.reason)

    def test_two_suites_that_broke_alike(self, repo: Repository, tmp_path: Path) -> None:
        """A full disk leaves empty files, all of one run: two doubts, not one."""
        for suite in ("one", "two"):
            put_suite(tmp_path, suite, ORDERS.unique_id)
            put(tmp_path, document(suite=suite), suite=suite)
            put(tmp_path, b"", suite=suite, minute=20)
        run(repo, tmp_path)
        assert verdict(repo) == ("UNKNOWN", ["unreadable", "unreadable"])

    def test_whose_it_is_remains_unknown(self, repo: Repository, tmp_path: Path) -> None:
        path = tmp_path / "result.json"
        path.write_bytes(b"[]")
        row = run(repo, path).rows[0]
        assert (row.suite, row.dataset, row.unreadable) == (None, None, True)

    def test_a_time_that_cannot_be_believed(self, repo: Repository, tmp_path: Path) -> None:
        """Otherwise one file from the year 3000 would be the newest for good."""
        put_suite(tmp_path, "orders_suite", ORDERS.unique_id)
        far = 60 * 24 * 365 * 900
        row = run(repo, put(tmp_path, b"{", minute=far)).rows[0]
        assert row.stored
        [evidence] = repo.events(ORDERS).evidence()
        assert evidence.observed_at is None
        assert verdict(repo) == ("UNKNOWN", ["unreadable"])

    def test_links_out_of_the_tree(self, repo: Repository, tmp_path: Path) -> None:
        outside = tmp_path / "outside.json"
        outside.write_bytes(content(document()))
        real = put(tmp_path, document())
        (real.parent / "link.json").symlink_to(outside)
        done = run(repo, tmp_path / "gx")
        assert [row.unreadable for row in done.rows] == [True, False]
        assert "symbolic link" in str(done.rows[0].reason)


class TestOtherFiles:
    def test_on_a_walk_they_are_passed_over(self, repo: Repository, tmp_path: Path) -> None:
        put(tmp_path, {"name": "a suite", "expectations": []})
        assert run(repo, tmp_path).rows == []

    def test_by_name_they_are_an_error(self, repo: Repository, tmp_path: Path) -> None:
        row = run(repo, put(tmp_path, {"expectations": []})).rows[0]
        assert (row.dataset, row.unreadable) == (None, True)
        assert "not a validation result" in str(row.reason)

    def test_names_that_are_no_utf_8(self, repo: Repository, tmp_path: Path) -> None:
        path = tmp_path / b"orders-\xff.json".decode("utf-8", "surrogateescape")
        path.write_bytes(content(document()))
        done = run(repo, path)
        assert done.rows[0].stored
        assert json.dumps(done.to_dict(), ensure_ascii=False).encode()


class TestAlone:
    """Without a store: what the result says of whatever it judged."""

    @pytest.mark.parametrize(
        ("found", "state"),
        [
            (document(), "PASS"),
            (document(check(rows=None)), "PASS"),
            (failing(), "FAIL"),
            (document(check(error=NESTED_ERROR)), "FAIL"),
            (document(check(False, severity="warning"), check()), "PASS"),
            (document(check(rows=0)), "UNKNOWN"),
            (document(spec={"query": "select 1"}), "UNKNOWN"),
            (document(results=[], statistics={}, success=True), "UNKNOWN"),
            (document(minute=None), "PASS"),
        ],
    )
    def test_state(self, tmp_path: Path, found: dict, state: str) -> None:
        row = ingest(None, [put(tmp_path, found)]).rows[0]
        assert (row.state, row.dataset, row.basis) == (state, None, None)

    def test_the_suite_may_name_the_dataset(self, tmp_path: Path) -> None:
        put_suite(tmp_path, "orders_suite", ORDERS.unique_id)
        row = ingest(None, [put(tmp_path, document())]).rows[0]
        assert row.dataset == ORDERS.unique_id

    def test_and_its_expectations_may(self, tmp_path: Path) -> None:
        one = check(meta={"dbt_unique_id": ORDERS.unique_id})
        assert ingest(None, [put(tmp_path, document(one))]).rows[0].dataset == ORDERS.unique_id

    def test_or_the_graph(self, tmp_path: Path) -> None:
        graph = make_graph(make_node("fct_orders"))
        row = ingest(None, [put(tmp_path, document())], graph=graph).rows[0]
        assert (row.state, row.dataset) == ("PASS", ORDERS.unique_id)

    def test_broken(self, tmp_path: Path) -> None:
        row = ingest(None, [put(tmp_path, b"{")]).rows[0]
        assert (row.state, row.suite, row.unreadable) == ("UNKNOWN", "orders_suite", True)


def test_many_results_are_linear_and_show_progress(repo: Repository, tmp_path: Path) -> None:
    paths = [
        put(tmp_path, document(row_count(3), minute=15 + n / 100), minute=15 + n / 100)
        for n in range(300)
    ]
    seen: list[tuple[int, int]] = []
    done = ingest(repo, paths, env=ENV, progress=lambda *counts: seen.append(counts))
    assert sum(row.stored for row in done.rows) == 300
    assert (seen[0], seen[-1], len(seen)) == ((1, 300), (300, 300), 300)


def test_the_newest_path_is_not_the_newest_result(repo: Repository, tmp_path: Path) -> None:
    """The time inside counts: GX overwrites and copies move files."""
    put(tmp_path, failing(minute=30), minute=11)
    put(tmp_path, document(minute=12), minute=40)
    run(repo, tmp_path)
    assert compact(40) > compact(11)
    assert verdict(repo)[0] == "FAIL"
