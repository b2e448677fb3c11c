"""`dbt build` with the post-hook on four threads: what is captured, when, and what is left alone.

One project with everything that dbt-spark can build on parquet; its SCD2 snapshots need Delta.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.conftest import MakeProject
from tests.functional.project import DbtProject, Outcome

pytestmark = [pytest.mark.functional, pytest.mark.spark]

TABLE = "{{ config(materialized='table') }} select"
PROJECT = {
    "seeds/countries.csv": "id,name\n1,Schweiz\n2,Österreich\n",
    "models/sources.yml": """
version: 2
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables: [{name: events}, {name: gone}]
models:
  - name: orders
    description: One row per order.
    config: {tags: [daily]}
  - name: private
    config: {meta: {dbt_snapshot: {enabled: false}}}
  - name: wrapped
    config: {post_hook: "{{ audit() }}"}
""",
    "macros/audit.sql": "{% macro audit() %}{{ dbt_snapshot.profile() }}{% endmacro %}",
    "models/orders.sql": """
        {{ config(materialized='table', post_hook="insert into {{ this }} values (3, 'late')") }}
        select 1 as id, 'a' as name union all select 2, 'b'
    """,
    "models/names.sql": "{{ config(materialized='view') }} select name from {{ ref('orders') }}",
    "models/middle.sql": "{{ config(materialized='ephemeral') }} select * from {{ ref('names') }}",
    "models/counted.sql": TABLE + " name, count(*) as n from {{ ref('middle') }} group by 1",
    "models/clicks.sql": TABLE + " id from {{ source('raw', 'events') }}"
    " where (select count(*) from {{ ref('countries') }}) > 0",
    "models/private.sql": TABLE + " 1 as id",
    "models/wrapped.sql": TABLE + " 1 as id",
    "models/failing.sql": TABLE + " no_such_column from {{ ref('orders') }}",
    "models/skipped.sql": TABLE + " * from {{ ref('failing') }}",
    "models/dropped.sql": "{{ config(materialized='table', post_hook='drop table {{ this }}') }}"
    " select 1 as id",
}
CAPTURED = {"countries", "events", "orders", "names", "counted", "clicks", "wrapped"}


@pytest.fixture(scope="module")
def project(make_project: MakeProject, spark: Any) -> DbtProject:
    project = make_project(PROJECT)
    spark.sql(f"create schema if not exists {project.schema}")
    spark.sql(f"create table {project.schema}.events using parquet as select 7 as id")
    return project


@pytest.fixture(scope="module")
def first(project: DbtProject) -> Outcome:
    return project.invoke("build", "--threads", "4")


@pytest.fixture(scope="module")
def second(project: DbtProject, first: Outcome) -> Outcome:
    """The same again; now dbt has parsed before and parses only what changed."""
    text = PROJECT["models/sources.yml"]
    project.write({"models/sources.yml": text.replace("One row", "A row")})
    return project.invoke("build", "--threads", "4", "--exclude", "failing", "skipped")


def parents(project: DbtProject, name: str) -> dict[str, dict[str, Any]]:
    return {p["unique_id"].rsplit(".", 1)[-1]: p for p in project.head(name)["parents"]}


def test_what_is_built_is_captured(project: DbtProject, first: Outcome) -> None:
    assert project.heads() == dict.fromkeys(CAPTURED, 1)
    assert "3 rows, 2 columns" in first.note(" orders:")
    assert "6 new, 1 failed; next: dbt-snapshot capture" in first.note(" dataset snapshots in ")


def test_dbt_keeps_its_own_results(first: Outcome) -> None:
    status = {unique_id.rsplit(".", 1)[-1]: s for unique_id, s in first.results.items()}
    assert status["dropped"] == status["orders"] == "success"
    assert (status["failing"], status["skipped"]) == ("error", "skipped")


def test_a_table_dropped_before_its_capture(project: DbtProject, first: Outcome) -> None:
    line = first.note(" dropped:")
    assert f"FAILED: the relation {project.schema}.dropped does not exist" in line
    assert "something dropped it since: build it again" in line
    assert "org.apache" not in line
    assert project.last_build("dropped").outcome == "failed"


def test_the_capture_waits_for_model_level_post_hooks(project: DbtProject, first: Outcome) -> None:
    assert project.head("orders")["num_rows"] == 3


def test_a_parent_is_captured_before_its_children_are_built(
    project: DbtProject, first: Outcome
) -> None:
    pinned = parents(project, "counted")
    assert pinned["orders"]["basis"] == "captured"
    assert pinned["orders"]["metadata_sha"] == project.head("orders")["metadata_sha"]
    assert pinned["names"]["looked_through"] is True
    assert project.last_build("orders").ended_at < project.last_build("counted").started_at


def test_sources_and_seeds_are_pinned(project: DbtProject, first: Outcome) -> None:
    pinned = parents(project, "clicks")
    assert pinned["countries"]["basis"] == "captured"
    assert pinned["events"]["basis"] == "schema"
    source = project.head("events")
    assert (source["depth"], source["source_files"]["count"]) == ("schema", 1)
    assert project.last_build("events").ended_at < project.last_build("clicks").ended_at


def test_only_what_may_have_changed_is_noted(project: DbtProject, first: Outcome) -> None:
    known = {d.unique_id.rsplit(".", 1)[-1] for d in project.store.repository.datasets()}
    assert known == CAPTURED | {"dropped", "failing", "skipped"}
    assert project.last_build("failing").status == "error"


def test_a_second_build_changes_nothing(
    project: DbtProject, first: Outcome, second: Outcome
) -> None:
    for name in CAPTURED - {"events"}:
        assert "(unchanged)" in second.note(f" {name}:")
    assert project.heads() == dict.fromkeys(CAPTURED, 1)
    objects = [path for path in (project.root / "objects").rglob("*") if path.is_file()]
    profiles = {project.head(name)["profile"]["sha256"] for name in CAPTURED - {"events"}}
    assert len(objects) == len(profiles)


def test_an_annotation_needs_no_new_version(project: DbtProject, second: Outcome) -> None:
    assert project.head("orders")["description"] == "A row per order."
    assert project.head("orders")["tags"] == {"daily": ""}


def test_empty_moves_no_head(project: DbtProject, second: Outcome) -> None:
    run = project.invoke("run", "-s", "clicks", "--empty")
    assert "not captured: --empty builds only a part of it" in run.note(" clicks:")
    assert project.head("clicks")["num_rows"] == 1
    status = project.head("clicks")["qa_status"]
    assert [reason["code"] for reason in status["reasons"]] == ["uncaptured"]


def test_nothing_half_written_is_left(project: DbtProject, second: Outcome) -> None:
    project.assert_valid()
