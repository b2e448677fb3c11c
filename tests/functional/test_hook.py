"""`dbt run` with the post-hook: what is captured, when, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.conftest import MakeProject
from tests.functional.project import DbtProject

pytestmark = [pytest.mark.functional, pytest.mark.spark]

MODELS = {
    "models/orders.sql": """
        {{ config(materialized='table', post_hook="insert into {{ this }} values (3, 'late')") }}
        select 1 as id, 'a' as name union all select 2, 'b'
    """,
    "models/names.sql": "{{ config(materialized='view') }} select name from {{ ref('orders') }}",
    "models/middle.sql": "{{ config(materialized='ephemeral') }} select * from {{ ref('names') }}",
    "models/counted.sql": """
        {{ config(materialized='table') }}
        select name, count(*) as n from {{ ref('middle') }} group by name
    """,
}


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> DbtProject:
    return make_project(MODELS)


@pytest.fixture(scope="module")
def first(project: DbtProject) -> Any:
    return project.invoke("run")


def test_every_model_is_captured(project: DbtProject, first: Any) -> None:
    assert first.success
    assert project.heads() == {"orders": 1, "names": 1, "counted": 1}
    assert "3 rows, 2 columns" in first.note("orders:")
    assert "3 dataset snapshots" in first.note("next:")


def test_the_capture_waits_for_model_level_post_hooks(project: DbtProject, first: Any) -> None:
    assert project.head("orders")["num_rows"] == 3


def test_a_parent_is_captured_before_its_children_are_built(
    project: DbtProject, first: Any
) -> None:
    parents = {p["unique_id"]: p for p in project.head("counted")["parents"]}
    pinned = parents["model.shop.orders"]
    assert pinned["basis"] == "captured"
    assert pinned["metadata_sha"] == project.head("orders")["metadata_sha"]
    assert parents["model.shop.names"]["looked_through"] is True
    repository = project.store.repository
    ended = {
        dataset.unique_id: repository.events(dataset).last_build()
        for dataset in repository.datasets()
    }
    orders, counted = ended["model.shop.orders"], ended["model.shop.counted"]
    assert orders is not None and orders.ended is not None and counted is not None
    assert orders.ended.ended_at < counted.started.started_at


def test_a_second_run_changes_nothing(project: DbtProject, first: Any) -> None:
    before = sorted(p for p in project.root.rglob("snapshots/*.json"))
    objects = sorted(p.name for p in (project.root / "objects").rglob("*"))
    again = project.invoke("run")
    assert again.success
    assert all("(unchanged)" in again.note(f"{n}:") for n in ("orders", "names", "counted"))
    assert sorted(p for p in project.root.rglob("snapshots/*.json")) == before
    assert sorted(p.name for p in (project.root / "objects").rglob("*")) == objects
