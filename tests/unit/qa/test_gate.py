"""`gate`, through the real command line: states, options, exit codes, shapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt_snapshot_plugin.cli.app import run
from dbt_snapshot_plugin.model.qa import Basis
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.open_store import open_store
from dbt_snapshot_plugin.store.local import LocalBackend
from dbt_snapshot_plugin.store.repository import Repository
from tests.factories import (
    CUSTOMERS,
    ENV,
    ORDERS,
    STAGING,
    add_build,
    add_evidence,
    add_snapshot,
    make_evidence,
)
from tests.unit.qa.build import dbt_node, make_project

Gate = Callable[..., tuple[int, str, str]]
PASS, FAIL, CANNOT = 0, 1, 2


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return Repository(LocalBackend(tmp_path / "store"))


@pytest.fixture
def gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Gate:
    """Runs the command on the store and the project; gives exit code, stdout and stderr."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)

    def call(*arguments: str) -> tuple[int, str, str]:
        store, where = str(tmp_path / "store"), str(project)
        code = run(["gate", "--root", store, "--project-dir", where, *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def rows(gate: Gate, *arguments: str) -> tuple[int, list[tuple[str, str, str, list[str]]]]:
    code, out, _ = gate("--output", "json", *arguments)
    document = json.loads(out)
    assert list(document) == ["result", "datasets"]
    assert document["result"] == ("PASS" if code == PASS else "FAIL")
    found = []
    for row in document["datasets"]:
        assert list(row) == ["dataset", "state", "result", "reasons"]
        codes = [reason["code"] for reason in row["reasons"]]
        found.append((row["dataset"], row["state"], row["result"], codes))
    return code, found


def unchecked(repo: Repository) -> None:
    add_snapshot(repo, ORDERS)


def passing(repo: Repository) -> None:
    add_evidence(repo, add_snapshot(repo, ORDERS))


def failing(repo: Repository) -> None:
    add_evidence(repo, add_snapshot(repo, ORDERS), passed=False)


def stale(repo: Repository) -> None:
    passing(repo)
    add_snapshot(repo, ORDERS, rows=9)


def uncaptured(repo: Repository) -> None:
    passing(repo)
    add_build(repo, ORDERS, minute=30)


def running(repo: Repository) -> None:
    passing(repo)
    add_build(repo, ORDERS, minute=30, end=False)


def skipped_by_dbt(repo: Repository) -> None:
    passing(repo)
    add_build(repo, ORDERS, minute=30, status="skipped", outcome="skipped")


def never_captured(repo: Repository) -> None:
    repo.prepare()
    add_build(repo, ORDERS, minute=30)


def unreadable(repo: Repository) -> None:
    passing(repo)
    doubt = make_evidence(None, minute=99, code="unreadable", reason="cut off")
    repo.events(ORDERS).write(doubt)


def by_time(repo: Repository) -> None:
    add_evidence(repo, add_snapshot(repo, ORDERS), basis="time")


def by_invocation(repo: Repository) -> None:
    add_evidence(repo, add_snapshot(repo, ORDERS), basis="invocation")


def unchecked_and_uncaptured(repo: Repository) -> None:
    unchecked(repo)
    add_build(repo, ORDERS, minute=30)


@pytest.mark.parametrize(
    ("make", "options", "code", "state", "codes"),
    [
        (passing, [], PASS, "PASS", []),
        (failing, [], FAIL, "FAIL", ["failed"]),
        (failing, ["--allow-unchecked", "--allow-unknown"], FAIL, "FAIL", ["failed"]),
        (unchecked, [], FAIL, "UNKNOWN", ["unchecked"]),
        (unchecked, ["--allow-unchecked"], PASS, "UNKNOWN", ["unchecked"]),
        (unchecked, ["--allow-unknown"], PASS, "UNKNOWN", ["unchecked"]),
        (stale, [], FAIL, "UNKNOWN", ["stale"]),
        (stale, ["--allow-unchecked"], FAIL, "UNKNOWN", ["stale"]),
        (stale, ["--allow-unknown"], PASS, "UNKNOWN", ["stale"]),
        (uncaptured, [], FAIL, "UNKNOWN", ["uncaptured"]),
        (uncaptured, ["--allow-unchecked"], FAIL, "UNKNOWN", ["uncaptured"]),
        (unchecked_and_uncaptured, ["--allow-unchecked"], FAIL, "UNKNOWN", ["uncaptured"]),
        (running, [], FAIL, "UNKNOWN", ["uncaptured"]),
        (never_captured, ["--allow-unchecked"], FAIL, "UNKNOWN", ["uncaptured"]),
        (skipped_by_dbt, [], PASS, "PASS", []),
        (unreadable, [], FAIL, "UNKNOWN", ["unreadable"]),
        (by_time, [], PASS, "PASS", []),
        (by_time, ["--basis", "strong"], FAIL, "UNKNOWN", ["stale"]),
        (by_time, ["--basis", "strong", "--allow-unchecked"], FAIL, "UNKNOWN", ["stale"]),
        (by_time, ["--basis", "strong", "--allow-unknown"], PASS, "UNKNOWN", ["stale"]),
        (by_invocation, ["--basis", "strong"], PASS, "PASS", []),
        (passing, ["--basis", "strong"], PASS, "PASS", []),
    ],
)
def test_states_and_exit_codes(
    repo: Repository,
    gate: Gate,
    make: Callable[[Repository], None],
    options: list[str],
    code: int,
    state: str,
    codes: list[str],
) -> None:
    make(repo)
    result = "PASS" if code == PASS else "FAIL"
    assert rows(gate, *options) == (code, [(str(ORDERS), state, result, codes)])


@pytest.mark.parametrize("weak", ["time", None])
def test_one_weak_pass_makes_it_weak(repo: Repository, gate: Gate, weak: Basis | None) -> None:
    head = add_snapshot(repo, ORDERS)
    add_evidence(repo, head, basis="invocation")
    add_evidence(repo, head, basis=weak, suite="other")
    assert rows(gate)[0] == PASS
    assert rows(gate, "--basis", "strong")[0] == FAIL


class TestNothing:
    def test_no_store_cannot_be_judged(self, gate: Gate) -> None:
        code, out, err = gate()
        assert (code, out) == (CANNOT, "")
        assert "there is no snapshot store here" in err

    def test_an_empty_store_fails(self, repo: Repository, gate: Gate) -> None:
        repo.prepare()
        code, out, err = gate()
        assert code == FAIL
        assert "the store is empty" in err
        assert out.startswith("GATE: FAIL (nothing to judge); next: build a model")
        assert rows(gate) == (FAIL, [])

    def test_an_empty_store_fails_whatever_is_allowed(self, repo: Repository, gate: Gate) -> None:
        repo.prepare()
        options = ["--allow-unknown", "--allow-unchecked", "--env", "any"]
        assert rows(gate, *options) == (FAIL, [])

    def test_a_damaged_record_cannot_be_judged(
        self, repo: Repository, gate: Gate, tmp_path: Path
    ) -> None:
        passing(repo)
        event = next((tmp_path / "store").rglob("evidence/*.json"))
        event.write_bytes(event.read_bytes().replace(b"PASS", b"FAIL")[:-1])
        code, _, err = gate("--allow-unknown")
        assert (code, "damaged" in err) == (CANNOT, True)


class TestText:
    def test_worst_first_and_the_next_step(self, repo: Repository, gate: Gate) -> None:
        failing(repo)
        add_snapshot(repo, STAGING)
        add_evidence(repo, add_snapshot(repo, CUSTOMERS, salt=1))
        code, out, err = gate()
        lines = out.splitlines()
        assert code == FAIL
        assert [line.split()[:3] for line in lines[1:4]] == [
            [str(ORDERS), "FAIL", "FAIL"],
            [str(STAGING), "UNKNOWN", "FAIL"],
            [str(CUSTOMERS), "PASS", "PASS"],
        ]
        assert "expect_column_values_to_not_be_null(email) failed on 1 of 3 rows" in lines[1]
        assert lines[4].startswith("GATE: FAIL (1 FAIL, 1 UNKNOWN, 1 PASS); next: see `dbt-snaps")
        assert "no manifest.json" in err

    def test_a_pass(self, repo: Repository, gate: Gate) -> None:
        passing(repo)
        assert gate()[1].splitlines()[-1] == "GATE: PASS (1 PASS)"

    def test_quiet(self, repo: Repository, gate: Gate) -> None:
        passing(repo)
        assert gate("--quiet") == (PASS, "", "")
        add_snapshot(repo, ORDERS, rows=9)
        code, out, err = gate("-q")
        assert (code, out) == (FAIL, "")
        assert err.startswith("GATE: FAIL (1 UNKNOWN); next: run the checkpoint again")

    def test_json_is_golden(self, repo: Repository, gate: Gate) -> None:
        unchecked(repo)
        assert json.loads(gate("--output", "json")[1]) == {
            "result": "FAIL",
            "datasets": [
                {
                    "dataset": "dev.shop/model.shop.fct_orders",
                    "state": "UNKNOWN",
                    "result": "FAIL",
                    "reasons": [{"code": "unchecked", "text": "no suite has judged it"}],
                }
            ],
        }


class TestProject:
    """With a manifest.json the gate is over its datasets, captured or not."""

    def test_a_node_that_asks_but_has_none(
        self, repo: Repository, gate: Gate, tmp_path: Path
    ) -> None:
        passing(repo)
        make_project(tmp_path / "project", dbt_node("fct_orders"), dbt_node("fct_new"))
        code, found = rows(gate)
        assert code == FAIL
        assert found[0] == (f"{ENV}/model.shop.fct_new", "UNKNOWN", "FAIL", ["uncaptured"])
        assert found[1][2] == "PASS"

    @pytest.mark.parametrize(
        "facts",
        [
            {"config": {"materialized": "table"}, "meta": {"dbt_snapshot": {"trigger": "model"}}},
            {"config": {"materialized": "view", "post-hook": "{{ dbt_snapshot.profile() }}"}},
            {
                "config": {"materialized": "table", "post-hook": "{{ our_hooks() }}"},
                "depends_on": {"macros": ["macro.dbt_snapshot.profile"]},
            },
        ],
    )
    def test_there_are_other_ways_to_ask(
        self, repo: Repository, gate: Gate, tmp_path: Path, facts: dict[str, Any]
    ) -> None:
        passing(repo)
        project = make_project(
            tmp_path / "project", dbt_node("fct_orders"), dbt_node("fct_new", **facts)
        )
        manifest = project / "target" / "manifest.json"
        document = json.loads(manifest.read_text())
        macro = {"package_name": "dbt_snapshot", "macro_sql": ""}
        document["macros"] = {"macro.dbt_snapshot.profile": macro}
        manifest.write_text(json.dumps(document))
        assert rows(gate)[1][0][3] == ["uncaptured"]

    @pytest.mark.parametrize(
        "facts",
        [
            {"config": {"materialized": "table"}},
            {
                "config": {"materialized": "view", "post-hook": "{{ dbt_snapshot.profile() }}"},
                "meta": {"dbt_snapshot": {"views": "off"}},
            },
            {"config": {"materialized": "ephemeral", "post-hook": "{{ dbt_snapshot.profile() }}"}},
            {"meta": {"dbt_snapshot": {"enabled": False}}},
            {"resource_type": "test"},
        ],
    )
    def test_one_that_does_not_ask_is_none_of_its_business(
        self, repo: Repository, gate: Gate, tmp_path: Path, facts: dict[str, Any]
    ) -> None:
        passing(repo)
        make_project(tmp_path / "project", dbt_node("fct_orders"), dbt_node("other", **facts))
        code, found = rows(gate)
        assert (code, len(found)) == (PASS, 1)

    def test_what_the_project_no_longer_has_is_listed_as_ignored(
        self, repo: Repository, gate: Gate, tmp_path: Path
    ) -> None:
        passing(repo)
        add_evidence(repo, add_snapshot(repo, CUSTOMERS), passed=False)
        make_project(tmp_path / "project", dbt_node("fct_orders"))
        code, _, err = gate()
        assert code == PASS
        assert err == f"ignored, no longer in the project: {CUSTOMERS}\n"

    def test_another_project_is_nothing_to_judge(
        self, repo: Repository, gate: Gate, tmp_path: Path
    ) -> None:
        passing(repo)
        make_project(tmp_path / "project", dbt_node("other", config={}))
        code, out, err = gate()
        assert (code, "nothing to judge" in out) == (FAIL, True)
        assert "no dataset of dev.shop is in this project" in err

    def test_a_manifest_json_that_cannot_be_read(
        self, repo: Repository, gate: Gate, tmp_path: Path
    ) -> None:
        passing(repo)
        make_project(tmp_path / "project")
        (tmp_path / "project" / "target" / "manifest.json").write_text("{")
        assert gate()[0] == CANNOT


class TestEnv:
    @pytest.fixture
    def two(self, repo: Repository) -> None:
        passing(repo)
        prod = Dataset("prod", ORDERS.unique_id)
        add_evidence(repo, add_snapshot(repo, prod, rows=4), passed=False)

    def test_one_must_be_named(self, two: None, gate: Gate) -> None:
        code, out, err = gate()
        assert (code, out) == (CANNOT, "")
        assert "name one with --env: dev.shop, prod" in err

    @pytest.mark.parametrize(
        ("env", "code"), [("dev.shop", PASS), ("dev", PASS), ("prod", FAIL), ("test", CANNOT)]
    )
    def test_by_name_or_its_beginning(self, two: None, gate: Gate, env: str, code: int) -> None:
        assert gate("--env", env)[0] == code

    def test_the_last_dbt_run_says_it(self, two: None, gate: Gate, tmp_path: Path) -> None:
        project = tmp_path / "project"
        make_project(project, dbt_node("fct_orders"), env="prod")
        assert gate()[0] == FAIL
        assert gate("--env", "dev")[0] == PASS

    def test_a_last_run_elsewhere_is_not_taken_for_this_store(
        self, repo: Repository, gate: Gate, tmp_path: Path
    ) -> None:
        passing(repo)
        make_project(tmp_path / "project", dbt_node("fct_orders"), env="other")
        code, _, err = gate()
        assert (code, "'other', not in this store" in err) == (CANNOT, True)


class TestSelection:
    @pytest.fixture
    def project(self, repo: Repository, tmp_path: Path) -> None:
        staging = add_snapshot(repo, STAGING, rows=4)
        add_evidence(repo, add_snapshot(repo, ORDERS, parents=[staging]))
        add_evidence(repo, add_snapshot(repo, CUSTOMERS, salt=1), passed=False)
        below = {"nodes": [STAGING.unique_id]}
        make_project(
            tmp_path / "project",
            dbt_node("stg_orders"),
            dbt_node("fct_orders", depends_on=below, tags=["finance"]),
            dbt_node("dim_customers"),
            dbt_node("plain", config={"materialized": "table"}),
        )

    @pytest.mark.parametrize(
        ("options", "code", "count"),
        [
            (["-s", "fct_orders"], PASS, 1),
            (["-s", "tag:finance"], PASS, 1),
            (["-s", "fct_orders", "dim_customers"], FAIL, 2),
            (["-s", "fct_orders", "--allow-unchecked", "--select", "stg_orders"], PASS, 2),
            (["-s", "+fct_orders"], FAIL, 2),
            (["-s", "+fct_orders", "--exclude", "stg_orders"], PASS, 1),
            (["--exclude", "dim_customers", "stg_orders"], PASS, 1),
            (["-s", "fct_orders", "plain"], PASS, 1),
            (["-s", "plain"], FAIL, 0),
            (["-s", "fct_orders", "--exclude", "fct_orders"], FAIL, 0),
        ],
    )
    def test_select_and_exclude(
        self, project: None, gate: Gate, options: list[str], code: int, count: int
    ) -> None:
        found = rows(gate, *options)
        assert (found[0], len(found[1])) == (code, count)

    def test_what_is_not_judged_is_said(self, project: None, gate: Gate) -> None:
        _, _, err = gate("-s", "fct_orders", "plain")
        assert err == "selected, but not captured and not asking for it: model.shop.plain\n"
        _, out, err = gate("-s", "plain")
        assert err == "nothing that was selected has a dataset snapshot or asks for one\n"
        assert "GATE: FAIL (nothing to judge)" in out
        assert gate("--exclude", "plain")[2] == ""

    @pytest.mark.parametrize(
        ("expression", "words"),
        [("fct_order", "did you mean fct_orders"), ("state:modified", "not supported")],
    )
    def test_a_typo_is_an_error_not_a_pass(
        self, project: None, gate: Gate, expression: str, words: str
    ) -> None:
        code, out, err = gate("-s", expression)
        assert (code, out, words in err) == (CANNOT, "", True)

    def test_from_the_store_alone(self, project: None, gate: Gate, tmp_path: Path) -> None:
        (tmp_path / "project" / "target" / "manifest.json").unlink()
        assert len(rows(gate, "-s", "+fct_orders")[1]) == 2
        assert len(rows(gate, "-s", "tag:finance")[1]) == 3


class TestPython:
    def test_the_store_has_the_same_gate(self, repo: Repository, tmp_path: Path) -> None:
        passing(repo)
        add_snapshot(repo, CUSTOMERS)
        store = open_store(tmp_path / "store")
        found = store.gate()
        assert (found.result, [d.result for d in found.datasets]) == ("FAIL", ["FAIL", "PASS"])
        assert store.gate(["fct_orders"]).result == "PASS"
        manifest = make_project(tmp_path / "p", dbt_node("fct_orders")) / "target/manifest.json"
        found = store.gate(manifest=manifest)
        assert (found.result, found.ignored) == ("PASS", [str(CUSTOMERS)])
