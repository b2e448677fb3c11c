"""What goes wrong around a capture: one message each, and dbt's result as `on_error` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.functional.conftest import MakeProject
from tests.functional.project import DbtProject, Outcome

pytestmark = [pytest.mark.functional, pytest.mark.spark]

DROPPED = "{{ config(materialized='table', post_hook='drop table {{ this }}') }} select 1 as id"
MODELS = {
    "models/dropped.sql": DROPPED,
    "models/child.sql": "-- depends_on: {{ ref('dropped') }}\n"
    "{{ config(materialized='table') }} select 1 as id",
    "models/other.sql": "{{ config(materialized='table') }} select 1 as id",
}


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> DbtProject:
    return make_project(MODELS, on_error="fail")


@pytest.fixture(scope="module")
def failed(project: DbtProject) -> Outcome:
    return project.invoke("run")


def test_on_error_fail_fails_the_node(failed: Outcome) -> None:
    status = {unique_id.rsplit(".", 1)[-1]: s for unique_id, s in failed.results.items()}
    assert not failed.success
    assert status == {"dropped": "error", "child": "skipped", "other": "success"}
    text = failed.messages["model.shop.dropped"]
    assert "model.shop.dropped was built, but its dataset snapshot could not be taken" in text
    assert "on_error is fail" in text
    assert "run `dbt-snapshot capture`" in text
    assert "Traceback" not in text
    assert "org.apache" not in text


def test_the_others_are_captured_and_nothing_is_half_written(
    project: DbtProject, failed: Outcome
) -> None:
    assert project.heads() == {"other": 1}
    assert project.last_build("dropped").outcome == "failed"
    project.assert_valid()


def test_dbt_retry_catches_up(project: DbtProject, failed: Outcome) -> None:
    project.write({"models/dropped.sql": "{{ config(materialized='table') }} select 1 as id"})
    assert project.invoke("retry").success
    assert project.heads() == {"other": 1, "dropped": 1, "child": 1}
    (parent,) = project.head("child")["parents"]
    assert parent["basis"] == "captured"


@pytest.mark.parametrize("on_error", ["warn", "fail"])
def test_a_store_that_is_a_file(project: DbtProject, tmp_path: Path, on_error: str) -> None:
    root = tmp_path / "root"
    root.write_text("not a store")
    project.configure(on_error=on_error)
    run = project.invoke("run", "-s", "child", "other", environ={"DBT_SNAPSHOT_ROOT": str(root)})
    assert run.success == (on_error == "warn")
    first = next(note for note in run.notes if "FAILED" in note)
    assert "the store can't be read: Not a directory" in first
    assert "check the path and its permissions, or set DBT_SNAPSHOT_ROOT" in first
    assert root.read_text() == "not a store"
    if on_error == "warn":
        (again,) = [note for note in run.notes if "(as above)" in note]
        assert "\n" not in again
        assert "2 failed; next: dbt-snapshot capture" in run.note(" dataset snapshots in ")


def test_a_wrong_setting_is_told_once(project: DbtProject) -> None:
    project.configure(on_eror="fail")
    run = project.invoke("run", "-s", "child", "other")
    assert run.success
    assert len([note for note in run.notes if "did you mean on_error?" in note]) == 1
    assert "vars.dbt_snapshot" in run.note("did you mean on_error?")


def test_a_setting_for_later_is_said(project: DbtProject) -> None:
    project.configure(data="copy", on_error="fail")
    run = project.invoke("run", "-s", "other")
    assert run.success
    assert "this version does not act on: data" in run.note("act on")
    assert "other: 1 rows" in run.note(" other:")
