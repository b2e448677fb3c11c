"""The ways to run dbt: without artifacts, with a manifest of one's own, quiet, off, without us."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.conftest import MakeProject
from tests.functional.project import DbtProject

pytestmark = [pytest.mark.functional, pytest.mark.spark]


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> DbtProject:
    return make_project({"models/orders.sql": "{{ config(materialized='table') }} select 1 as id"})


@pytest.fixture(scope="module")
def parsed(project: DbtProject) -> Any:
    """dbt's manifest; no file of it is left."""
    path = project.directory / "target" / "manifest.json"
    path.unlink(missing_ok=True)
    found = project.invoke("parse", "--no-write-json").value
    assert not path.exists()
    return found


def test_off_is_off(project: DbtProject) -> None:
    run = project.invoke("run", environ={"DBT_SNAPSHOT_ENABLED": "false"})
    assert run.success
    assert run.notes == []
    assert not project.root.exists()
    assert not (project.directory / "target" / "dbt_snapshot").exists()


@pytest.mark.parametrize("given", [False, True], ids=["--no-write-json", "dbtRunner(manifest)"])
def test_without_a_manifest_on_disk(project: DbtProject, parsed: Any, given: bool) -> None:
    (project.directory / "target" / "manifest.json").unlink(missing_ok=True)
    run = project.invoke("-q", "run", "--no-write-json", manifest=parsed if given else None)
    assert run.success
    assert project.heads() == {"orders": 1}
    assert project.last_build("orders").captured
    assert len(run.notes) == 2  # -q hides them on the console; a callback gets them all


def test_quiet_is_quiet(project: DbtProject, capfd: pytest.CaptureFixture[str]) -> None:
    project.invoke("-q", "run")
    out, err = capfd.readouterr()
    assert "dbt-snapshot" not in out + err
    project.invoke("run", "-s", "orders")
    assert "dbt-snapshot  orders: 1 rows" in capfd.readouterr().out


def test_commands_that_build_nothing_touch_nothing(project: DbtProject) -> None:
    before = sorted(project.root.rglob("*"))
    for command in (["compile"], ["show", "-s", "orders"], ["test"]):
        assert project.invoke(*command).notes == []
    assert sorted(project.root.rglob("*")) == before


def test_trigger_model_needs_no_package(make_project: MakeProject) -> None:
    project = make_project({}, trigger="model", targets=["dev"])
    project.hook = False
    project.write({"models/a.sql": "{{ config(materialized='table') }} select 1 as id"})
    project.configure(trigger="model", targets=["dev"])
    (project.directory / "packages.yml").unlink()
    run = project.invoke("run")
    assert run.success
    assert "1 rows, 1 columns, snapshot 1" in run.note(" a:")
    project.configure(trigger="model", targets=["prod"])
    (project.directory / "packages.yml").unlink()
    assert project.invoke("run").notes == []
    status = project.head("a")["qa_status"]
    assert [reason["code"] for reason in status["reasons"]] == ["uncaptured"]


def test_without_the_package_dbts_own_error_stays(make_project: MakeProject) -> None:
    project = make_project({"models/a.sql": "select 1 as id"})
    (project.directory / "packages.yml").unlink()
    (project.directory / "package-lock.yml").unlink()
    (project.directory / "dbt_packages" / "dbt_snapshot").unlink()
    run = project.invoke("run")
    assert not run.success
    assert "'dbt_snapshot' is undefined" in run.messages["model.shop.a"]
    assert run.notes == []
