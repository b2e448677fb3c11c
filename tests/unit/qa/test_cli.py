"""`qa ingest` on the command line: where it looks, what it prints, how it ends; and the weight."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dbt_snapshot_plugin.cli.app import run
from dbt_snapshot_plugin.cli.selection import spread
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.store.local import LocalBackend
from dbt_snapshot_plugin.store.repository import Repository
from tests.factories import ENV, ORDERS, add_snapshot
from tests.unit.qa.build import (
    check,
    dbt_node,
    document,
    failing,
    make_project,
    put,
    put_suite,
    row_count,
)

Ingest = Callable[..., tuple[int, str, str]]
OK, NO, CANNOT = 0, 1, 2


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project", dbt_node("fct_orders"), env=ENV)


@pytest.fixture
def repo(project: Path) -> Repository:
    """The project's own store, with one snapshot of fct_orders."""
    repo = Repository(LocalBackend(project / ".dbt_snapshot"))
    add_snapshot(repo, ORDERS)
    return repo


@pytest.fixture
def ingest(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Ingest:
    """Runs the command in the project's directory; gives exit code, stdout and stderr."""
    monkeypatch.chdir(project)
    monkeypatch.delenv("DBT_SNAPSHOT_ROOT", raising=False)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["qa", "ingest", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize("folder", ["gx", "great_expectations"])
def test_finds_the_project_of_great_expectations(
    repo: Repository, ingest: Ingest, project: Path, folder: str
) -> None:
    put(project, document())
    (project / "gx").rename(project / folder)
    code, out, err = ingest()
    assert (code, err) == (OK, "")
    header, row, summary = out.splitlines()
    assert header.split() == ["file", "suite", "dataset", "qa", "basis", "reason"]
    assert row.split() == [
        "20250105T141500.000000Z/shop-fct_orders.json",
        "orders_suite",
        str(ORDERS),
        "PASS",
        "time",
    ]
    assert summary == "1 result: 1 PASS; 1 new"


def test_json_is_golden(repo: Repository, ingest: Ingest, project: Path) -> None:
    put(project, failing())
    code, out, _ = ingest("--output", "json")
    assert code == OK
    assert json.loads(out) == {
        "results": [
            {
                "file": "gx/uncommitted/validations/orders_suite/__none__/"
                "20250105T141500.000000Z/shop-fct_orders.json",
                "suite": "orders_suite",
                "dataset": "dev.shop/model.shop.fct_orders",
                "state": "FAIL",
                "reason": "suite orders_suite: expect_column_values_to_not_be_null(email) "
                "failed on 1 of 3 rows",
                "basis": "time",
                "counts": {
                    "evaluated": 2,
                    "passed": 1,
                    "failed_critical": 1,
                    "failed_warning": 0,
                    "failed_info": 0,
                    "errors": 0,
                    "vacuous": 0,
                },
            }
        ]
    }


def test_a_second_time_says_that_nothing_is_new(
    repo: Repository, ingest: Ingest, project: Path
) -> None:
    put(project, document())
    ingest()
    code, out, _ = ingest()
    assert (code, out) == (OK, "1 result: 1 PASS; 1 taken in before\n")


class TestExitCodes:
    """Good or bad, a result that can be read is 0; the gate is for the rest."""

    @pytest.mark.parametrize(
        ("found", "code"),
        [
            (document(), OK),
            (failing(), OK),
            (document(minute=1), OK),
            (document(suite="x", asset="nobody"), OK),
            (b"", NO),
            (b"{", NO),
            ({**document(), "success": False}, NO),
        ],
    )
    def test_of_one_file(
        self, repo: Repository, ingest: Ingest, project: Path, found: dict | bytes, code: int
    ) -> None:
        path = put(project, found)
        assert ingest(str(path))[0] == code
        assert ingest(str(path), "--dry-run")[0] == code

    def test_one_of_many(self, repo: Repository, ingest: Ingest, project: Path) -> None:
        put(project, document())
        put(project, b"{", minute=20)
        code, out, _ = ingest()
        assert code == NO
        assert out.splitlines()[-1] == "2 results: 1 UNKNOWN, 1 PASS; 2 new; 1 can't be read"

    def test_quiet_still_says_what_is_broken(
        self, repo: Repository, ingest: Ingest, project: Path
    ) -> None:
        put(project, b"{")
        code, out, err = ingest("-q")
        assert (code, out) == (NO, "")
        assert "shop-fct_orders.json: not a whole JSON document" in err

    def test_no_results(self, repo: Repository, ingest: Ingest) -> None:
        code, _, err = ingest()
        assert (code, "there are no Great Expectations results here" in err) == (CANNOT, True)

    def test_no_such_file(self, repo: Repository, ingest: Ingest) -> None:
        assert ingest("nowhere.json")[0] == CANNOT

    def test_no_store(self, ingest: Ingest, project: Path) -> None:
        code, _, err = ingest(str(put(project, document())))
        assert (code, "there is no snapshot store here" in err) == (CANNOT, True)

    def test_an_env_must_be_known(self, repo: Repository, ingest: Ingest, project: Path) -> None:
        add_snapshot(repo, Dataset("prod", ORDERS.unique_id))
        path = str(put(project, document()))
        assert ingest(path)[0] == OK
        (project / "target" / "dbt_snapshot" / "context.json").unlink()
        code, _, err = ingest(path)
        assert (code, "name one with --env: dev.shop, prod" in err) == (CANNOT, True)
        assert ingest(path, "--env", "dev")[0] == OK


class TestDryRun:
    """`--dry-run` works with neither store nor dbt project."""

    def test_outside_of_everything(
        self,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("DBT_SNAPSHOT_ROOT", raising=False)
        put_suite(tmp_path, "orders_suite", ORDERS.unique_id)
        put(tmp_path, failing())
        put(tmp_path, document(suite="other"), suite="other")
        assert run(["qa", "ingest", "--dry-run", "--output", "json"]) == OK
        found = json.loads(capsys.readouterr().out)["results"]
        assert [(r["suite"], r["dataset"], r["state"], r["basis"]) for r in found] == [
            ("orders_suite", ORDERS.unique_id, "FAIL", None),
            ("other", None, "PASS", None),
        ]
        assert not (tmp_path / ".dbt_snapshot").exists()

    def test_with_a_store_it_shows_what_would_be(
        self, repo: Repository, ingest: Ingest, project: Path
    ) -> None:
        put(project, document())
        code, out, _ = ingest("--dry-run")
        assert (code, out.splitlines()[-1]) == (
            OK,
            "1 result: 1 PASS; dry run, nothing is written",
        )
        assert repo.events(ORDERS).evidence() == []


def test_from_result_to_gate(
    repo: Repository, ingest: Ingest, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PASS, then FAIL, then data that nobody has judged yet."""
    assert run(["gate", "-q"]) == NO
    put(project, document())
    ingest()
    assert run(["gate", "-q"]) == OK
    put(project, failing(minute=20), minute=20)
    ingest()
    assert run(["gate", "-q"]) == NO
    add_snapshot(repo, ORDERS, rows=7)
    assert run(["gate", "-q"]) == NO
    good = document(check(rows=7), row_count(7), minute=25)
    put(project, good, minute=25)
    ingest()
    assert run(["gate", "-q"]) == OK
    capsys.readouterr()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["-s", "a", "b", "--env", "x"], ["-s", "a", "-s", "b", "--env", "x"]),
        (["--select", "a b", "c"], ["--select", "a b", "--select", "c"]),
        (["--env", "x", "-s", "a"], ["--env", "x", "-s", "a"]),
        (["--exclude", "b", "c", "-q"], ["--exclude", "b", "--exclude", "c", "-q"]),
        (["-s"], ["-s"]),
        ([], []),
    ],
)
def test_select_takes_several_words_as_in_dbt(given: list[str], expected: list[str]) -> None:
    assert spread(given) == expected


HEAVY = {"pyspark", "dbt", "dbt_common", "great_expectations", "pandas", "pyarrow", "numpy"}
PROBE = """
import json, sys
from dbt_snapshot_plugin.cli.app import run
code = run(json.loads(sys.argv[1]))
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


@pytest.mark.parametrize("arguments", [["gate"], ["qa", "ingest", "--dry-run"]])
def test_nothing_heavy_is_imported(repo: Repository, project: Path, arguments: list[str]) -> None:
    put(project, document())
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps([*arguments, "--project-dir", str(project)])],
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == (NO if arguments == ["gate"] else OK), done.stderr
    assert not HEAVY & set(modules)
