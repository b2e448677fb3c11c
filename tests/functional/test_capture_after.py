"""Capture after the fact: the same versions as the hook's, from what dbt left on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dbt_snapshot_plugin
from dbt_snapshot_plugin.cli.app import run as cli
from dbt_snapshot_plugin.ops.capture_project import CaptureRun
from dbt_snapshot_plugin.ops.open_store import open_store
from tests.conftest import ROOT
from tests.functional.conftest import MakeProject
from tests.functional.project import DbtProject, Outcome, environment

pytestmark = [pytest.mark.functional, pytest.mark.spark]

PROJECT = {
    "seeds/countries.csv": "id,name\n1,ch\n2,at\n",
    "models/sources.yml": """
version: 2
sources: [{name: raw, schema: "{{ target.schema }}", tables: [{name: events}]}]
models:
  - name: base
    config: {meta: {dbt_snapshot: {volatile: [at]}}}
    columns: [{name: name, config: {tags: [pii]}}]
""",
    "macros/up.sql": "{% macro up(c) %}upper({{ c }}) || '{{ env_var('SUFFIX', '') }}'"
    "{% endmacro %}",
    "models/base.sql": "{{ config(materialized='table') }} select id, {{ up('name') }} as name,"
    " current_timestamp() as at from {{ ref('countries') }} where id <= {{ var('limit', 1) }}",
    "models/clean.sql": "{{ config(materialized='view') }} select * from {{ ref('base') }}",
    "models/inner.sql": "{{ config(materialized='ephemeral') }} select * from {{ ref('clean') }}",
    "models/mart.sql": "{{ config(materialized='table') }} select i.id from {{ ref('inner') }} i"
    " cross join {{ source('raw', 'events') }}",
}
NAMES = {"countries", "base", "clean", "mart", "events"}


@pytest.fixture(scope="module")
def project(make_project: MakeProject, spark: Any) -> DbtProject:
    project = make_project(PROJECT)
    spark.sql(f"create schema if not exists {project.schema}")
    spark.sql(f"create table {project.schema}.events using parquet as select 7 as id")
    return project


@pytest.fixture(scope="module")
def hooked(project: DbtProject) -> Outcome:
    run = project.invoke("build", "--vars", "{limit: 2}", environ={"SUFFIX": "!"})
    assert run.success
    return run


@pytest.fixture(scope="module")
def other_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("other") / "store"


@pytest.fixture(scope="module")
def captured(project: DbtProject, hooked: Outcome, other_root: Path) -> CaptureRun:
    with environment({"SUFFIX": "!"}):
        return dbt_snapshot_plugin.capture(project.directory, root=other_root)


def versions(root: Path) -> dict[str, str]:
    return {row.dataset.rsplit(".", 1)[-1]: row.metadata_sha for row in open_store(root).list()}


def test_the_versions_are_those_of_the_hook(
    project: DbtProject, captured: CaptureRun, other_root: Path
) -> None:
    assert [c.outcome for c in captured.captures] == ["new"] * 4
    assert versions(other_root) == versions(project.root)
    assert set(versions(other_root)) == NAMES
    assert captured.env == project.env
    assert captured.root == str(other_root)
    assert open_store(other_root).validate().errors == []


def test_parents_come_before_their_children(captured: CaptureRun) -> None:
    order = [c.dataset.unique_id.rsplit(".", 1)[-1] for c in captured.captures]
    assert order == ["countries", "base", "clean", "mart"]


def test_manifests_agree_in_all_but_the_event(
    project: DbtProject, captured: CaptureRun, other_root: Path
) -> None:
    mine = open_store(other_root).show("mart")
    hooks = project.head("mart")
    same = ("columns", "code_sha", "relation", "producer", "invocation_id", "compiled_code_sha")
    for key in same:
        assert mine[key] == hooks[key]
    pins = ("unique_id", "basis", "metadata_sha", "data_sha", "reason")
    assert [[p.get(k) for k in pins] for p in mine["parents"]] == [
        [p.get(k) for k in pins] for p in hooks["parents"]
    ]


def test_the_command_line(
    project: DbtProject, captured: CaptureRun, capfd: pytest.CaptureFixture[str]
) -> None:
    where = ["--project-dir", str(project.directory), "--root", str(project.root)]
    with environment({"SUFFIX": "!"}):
        code = cli(["capture", "-s", "base+", "--exclude", "clean", "--output", "json", *where])
    out, _ = capfd.readouterr()
    assert code == 0
    rows = json.loads(out)["captures"]
    assert [list(row) for row in rows] == [
        ["dataset", "outcome", "seq", "metadata_sha", "reason"]
    ] * 2
    assert [row["dataset"] for row in rows] == [
        f"{project.env}/model.shop.base",
        f"{project.env}/model.shop.mart",
    ]
    assert {row["outcome"] for row in rows} == {"unchanged"}
    assert cli(["capture", "-s", "inner", *where]) == 2
    assert cli(["capture", "-s", "nosuch", *where]) == 2
    assert "no node matches 'nosuch'" in capfd.readouterr().err


def test_a_relation_that_is_gone_and_a_catch_up(
    project: DbtProject, captured: CaptureRun, spark: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """What could not be captured is a result; the next capture of it is a new snapshot."""
    where = ["--project-dir", str(project.directory), "--root", str(project.root)]
    spark.sql(f"drop table {project.schema}.base")
    assert cli(["capture", "-s", "base mart", *where]) == 2
    out, err = capfd.readouterr()
    assert f"base: FAILED: the relation {project.schema}.base does not exist" in err
    assert "Traceback" not in err
    assert "1 failed; next: dbt-snapshot capture" in out
    assert project.head("base")["qa_status"]["reasons"][0]["code"] == "uncaptured"
    spark.sql(
        f"create table {project.schema}.base using parquet as select 5 as id, 'x' as name, "
        "current_timestamp() as at"
    )
    with environment({"SUFFIX": "!"}):
        assert cli(["capture", "-s", "base", *where]) == 0
    assert "snapshot 2" in capfd.readouterr().out
    assert project.head("base")["seq"] == 2
    assert project.head("base")["qa_status"]["reasons"][0]["code"] == "unchecked"
    project.assert_valid()


RUN_RESULTS = "target/run_results.json"


def test_what_dbt_left_is_not_there_or_broken(
    project: DbtProject, captured: CaptureRun, capfd: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: str) -> str:
        assert cli(["capture", "--project-dir", str(project.directory), *arguments]) == 2
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count("Error:") == 1
        assert "Traceback" not in err
        assert "next:" in err
        return err

    target = project.directory / "target"
    results = json.loads((target / "run_results.json").read_bytes())
    (target / "run_results.json").write_text("garbage")
    assert "run_results.json is not what dbt writes" in said()
    results["args"]["which"] = "test"
    (target / "run_results.json").write_text(json.dumps(results))
    assert "the last command here was `dbt test`" in said()
    (target / "run_results.json").unlink()
    assert "no dbt run is known here" in said()
    assert "Could not find profile" in said("--profiles-dir", str(target))
    assert "does not exist" in said("--profiles-dir", str(target / "gone"))
    assert "does not have a target named 'prod'" in said("-t", "prod", "-s", "base")
    (target / "manifest.json").rename(target / "kept.json")
    assert "manifest.json is missing" in said("-s", "base")
    (target / "manifest.json").write_text('{"nodes": {}}')
    assert "manifest.json is not what dbt writes" in said("-s", "base")
    (target / "kept.json").replace(target / "manifest.json")
    assert "this is no dbt project" in said("--project-dir", str(target))


def test_a_part_on_purpose_is_not_captured_later(
    project: DbtProject, captured: CaptureRun, capfd: pytest.CaptureFixture[str]
) -> None:
    project.hook = False
    project.configure()
    project.invoke("run", "-s", "mart", "--empty")
    before = project.head("mart")["seq"]
    where = ["--project-dir", str(project.directory), "--root", str(project.root)]
    assert cli(["capture", *where]) == 0
    assert "mart: not captured: --empty built only a part of it" in capfd.readouterr().out
    assert project.head("mart")["seq"] == before


def test_no_java(project: DbtProject, captured: CaptureRun, tmp_path: Path) -> None:
    """In a process of its own: this one has a JVM already."""
    left_out = {"PATH", "JAVA_HOME", "SPARK_HOME"}
    environ = {k: v for k, v in os.environ.items() if k not in left_out}
    where = ["--root", str(tmp_path / "store"), "--project-dir", str(project.directory)]
    done = subprocess.run(
        [sys.executable, "-m", "dbt_snapshot_plugin.cli", "capture", "-s", "base", *where],
        env={**environ, "PATH": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert "no Java was found, and Spark needs one (17 or newer)" in done.stderr
    assert "openjdk-17-jre-headless" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "store").exists()  # nothing was begun
