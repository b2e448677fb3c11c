"""`list`, `show` and `validate` as a person calls them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dbt_snapshot_plugin.cli.app import run
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.local import LocalBackend
from dbt_snapshot_plugin.store.repository import Repository
from tests.factories import ENV, ORDERS, add_build, add_snapshot, shop_store


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sound")
    shop_store(LocalBackend(root))
    return root


@pytest.fixture
def root(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of the project in which the command is called."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DBT_SNAPSHOT_ROOT", raising=False)
    return shutil.copytree(sound, tmp_path / ".dbt_snapshot")


def test_list_is_a_table(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0].split() == [
        *["env", "dataset", "snapshot", "version", "rows", "qa", "change", "created", "(UTC)"]
    ]
    assert [line.split()[1:6:2] for line in lines[1:]] == [
        ["model.shop.dim_customers", lines[1].split()[3], "FAIL"],
        ["model.shop.fct_orders", lines[2].split()[3], "PASS"],
        ["model.shop.stg_orders", lines[3].split()[3], "UNKNOWN"],
    ]
    assert "\x1b" not in shown.out
    assert shown.err == ""


def test_list_of_one_dataset(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "fct_orders"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "model.shop.fct_orders in dev.shop"
    assert [line.split()[0] for line in lines[2:]] == ["3", "2", "1"]


def test_list_says_what_it_left_out(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = Repository(LocalBackend(root))
    for number in range(50):
        add_snapshot(repo, rows=1 + number % 2, build=False)
    assert run(["list", "fct_orders"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "the last 50 of 53; --all shows the rest"
    assert run(["list", "fct_orders", "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 55


def test_list_names_what_has_no_snapshot_yet(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_build(Repository(LocalBackend(root)), Dataset(ENV, "model.shop.new"), minute=0)
    assert run(["list"]) == 0
    shown = capsys.readouterr()
    assert shown.err == "dev.shop/model.shop.new has no snapshot yet\n"
    assert "model.shop.new" not in shown.out


def test_an_empty_store_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Repository(LocalBackend(tmp_path)).prepare()
    assert run(["list", "--root", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no datasets yet\n"
    assert run(["validate", "--root", str(tmp_path)]) == 0


def test_show_is_a_page(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "fct_orders"]) == 0
    shown = capsys.readouterr().out
    for text in (
        "fct_orders\n  dataset      dev.shop/model.shop.fct_orders",
        "snapshot     3 (HEAD)",
        "rows         4 in 3 columns",
        "message      new tax rule",
        "qa PASS: 2 of 2 checks passed",
        "model.shop.stg_orders         1",
        "order_id  bigint  0.0%         4",
        "not computed: ",
    ):
        assert text in shown


def test_show_of_an_older_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "dev/fct_orders@1"]) == 0
    assert "snapshot     1 (HEAD~2)" in capsys.readouterr().out


def test_show_of_a_version_that_stands_twice_says_so(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = Repository(LocalBackend(root))
    first = repo.resolve("dim_customers@1")
    dataset = Dataset(first.env, first.unique_id)
    parents = [repo.resolve("stg_orders")]
    add_snapshot(repo, dataset, rows=6, parents=parents)
    add_snapshot(repo, dataset, rows=5, salt=1, parents=parents)
    sha = first.metadata_sha[:10]
    assert run(["show", f"dim_customers@{sha}"]) == 0
    shown = capsys.readouterr()
    assert "snapshot     3 (HEAD)" in shown.out
    assert shown.err == f"version {sha} stands at 3 and 1; this is the newest, 3\n"


def test_validate_passes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:8]] == [
        ["store", "PASS"],
        ["history", "PASS"],
        ["identity", "PASS"],
        ["profiles", "PASS"],
        ["objects", "PASS"],
        ["events", "PASS"],
        ["parents", "PASS"],
    ]
    assert lines[-3].startswith("warning: qa_status is FAIL")
    files = [p for p in root.rglob("*") if p.is_file() and p.name != "hint"]
    assert lines[-2] == f"{len(files)} files checked, 0 errors, 1 warnings"
    assert lines[-1] == "RESULT: PASS"


def test_validate_fails_on_damage(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = layout.snapshot_key(ORDERS, 2)
    path = root / key
    path.write_bytes(path.read_bytes().replace(b'"ann"', b'"bob"'))
    assert run(["validate"]) == 1
    shown = capsys.readouterr()
    assert f"error: {key}: a stored record is damaged" in shown.out
    assert shown.out.splitlines()[-1] == "RESULT: FAIL"
    assert run(["validate", "fct_orders@2"]) == 1
    assert run(["validate", "dim_customers"]) == 0


def test_quiet_prints_errors_only(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "--quiet"]) == 0
    assert run(["list", "-q"]) == 0
    assert run(["show", "fct_orders", "-q"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")
    (root / layout.snapshot_key(ORDERS, 2)).write_bytes(b"")
    assert run(["validate", "--quiet"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "00000002.json" in shown.err


def test_quiet_still_prints_the_json_that_was_asked_for(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["list", "-q", "--output", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["datasets"]) == 3


@pytest.mark.parametrize("command", [["list"], ["list", "x"], ["show", "x"], ["validate"]])
def test_without_a_store_each_says_what_to_do(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DBT_SNAPSHOT_ROOT", raising=False)
    assert run(command) == 2
    shown = capsys.readouterr().err
    assert "there is no snapshot store here" in shown
    assert str(tmp_path / ".dbt_snapshot") in shown
    assert not (tmp_path / ".dbt_snapshot").exists()


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["show", "fct_order"], "did you mean fct_orders"),
        (["list", "fct_order"], "did you mean fct_orders"),
        (["validate", "fct_order"], "did you mean fct_orders"),
        (["show", "prod/fct_orders"], "there is dev.shop/model.shop.fct_orders"),
        (["show", "fct_orders@77"], "has no snapshot @77 (its last one is 3)"),
        (["show", "@3"], "is not a reference"),
        (["list", "fct_orders@3"], "names one snapshot"),
        (["list", "--root", "s3://bucket/x"], "remote stores belong to a later release"),
        (["validate", "./lake"], "names a lake snapshot"),
        (["list", "--project-dir", "nowhere"], "the project directory does not exist"),
    ],
)
def test_what_can_not_be_done_exits_2(
    root: Path, capsys: pytest.CaptureFixture[str], command: list[str], text: str
) -> None:
    assert run(command) == 2
    shown = capsys.readouterr()
    assert text in shown.err
    assert shown.out == ""


def test_an_ambiguous_name_lists_the_candidates(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_snapshot(Repository(LocalBackend(root)), Dataset("prod.shop", ORDERS.unique_id))
    assert run(["show", "fct_orders"]) == 2
    shown = capsys.readouterr().err
    assert "dev.shop/model.shop.fct_orders, prod.shop/model.shop.fct_orders" in shown
    assert run(["show", "prod/fct_orders"]) == 0


def test_damage_ends_list_and_show_in_one_message(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = root / layout.snapshot_key(ORDERS, 3)
    path.write_bytes(path.read_bytes()[:-1])
    for command in (["list"], ["show", "fct_orders"]):
        assert run(command) == 2
        shown = capsys.readouterr().err
        assert str(path) in shown
        assert "`dbt-snapshot validate` lists all damage" in shown


def test_the_store_of_the_environment_and_of_the_option(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = root.rename(tmp_path / "moved")
    assert run(["list"]) == 2
    assert run(["list", "--root", "moved"]) == 0
    monkeypatch.setenv("DBT_SNAPSHOT_ROOT", str(moved))
    assert run(["list"]) == 0
    assert run(["list", "--root", "nowhere"]) == 2


def test_control_characters_do_not_reach_the_terminal(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = Repository(LocalBackend(root))
    evil = "\x1b[2Jgone\u202e\x07"
    add_snapshot(repo, description=evil, message=evil, relation=evil, created_by=evil)
    for command in (["show", "fct_orders"], ["list"], ["validate"]):
        assert run(command) == 0
        shown = capsys.readouterr()
        assert not {"\x1b", "\x07", "\u202e"} & set(shown.out + shown.err)
