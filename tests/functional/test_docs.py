"""`dbt docs generate` shows what the store knows, and dbt sees no difference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.functional.conftest import MakeProject
from tests.functional.project import DbtProject, Outcome

pytestmark = [pytest.mark.functional, pytest.mark.spark]

MODELS = {
    "models/schema.yml": """
version: 2
models:
  - name: orders
    description: One row per order.
    docs: {node_color: purple}
    config: {meta: {qa_status: mine, owner: ann}}
  - name: totals
    description: Their number.
  - name: private
    config: {meta: {dbt_snapshot: {enabled: false}}}
""",
    "models/orders.sql": "{{ config(materialized='table') }} select 1 as id union all select 2",
    "models/totals.sql": "{{ config(materialized='table') }} select count(*) as n"
    " from {{ ref('orders') }}",
    "models/private.sql": "select 1 as id",
}


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> DbtProject:
    project = make_project(MODELS)
    project.persist_docs = True
    project.configure()
    assert project.invoke("run").success
    return project


@pytest.fixture(scope="module")
def plain(project: DbtProject) -> dict[str, Any]:
    """manifest.json as dbt alone writes it."""
    return read(project.directory / "target" / "manifest.json")


@pytest.fixture(scope="module")
def generated(project: DbtProject, plain: dict[str, Any]) -> Outcome:
    return project.invoke("docs", "generate", "--static")


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def pages(project: DbtProject, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A model in manifest.json and in catalog.json."""
    target = project.directory / "target"
    return (
        read(target / "manifest.json")["nodes"][f"model.shop.{name}"],
        read(target / "catalog.json")["nodes"][f"model.shop.{name}"],
    )


def test_the_page_shows_state_rows_and_snapshot(project: DbtProject, generated: Outcome) -> None:
    assert generated.success
    node, catalog = pages(project, "totals")
    version = project.head("totals")["metadata_sha"][:12]
    assert node["meta"]["qa_status"] == "UNKNOWN"
    assert node["meta"]["snapshot_rows"] == "1"
    assert node["meta"]["dataset_snapshot"] == f"#1 {version}"
    assert node["docs"]["node_color"].startswith("#")
    assert catalog["stats"]["has_stats"]["value"] is True
    assert catalog["stats"]["dbt_snapshot_qa"]["value"] == "no suite has judged it"


def test_what_the_user_wrote_stays(project: DbtProject, generated: Outcome) -> None:
    node, _ = pages(project, "orders")
    assert node["meta"]["qa_status"] == "mine"
    assert node["meta"]["owner"] == "ann"
    assert node["meta"]["snapshot_rows"] == "2"
    assert node["docs"]["node_color"] == "purple"
    assert node["description"] == "One row per order."


def test_what_has_no_snapshot_is_untouched(
    project: DbtProject, plain: dict[str, Any], generated: Outcome
) -> None:
    node, catalog = pages(project, "private")
    before = plain["nodes"]["model.shop.private"]
    assert (node["meta"], node["docs"]) == (before["meta"], before["docs"])
    assert not any(key.startswith("dbt_snapshot") for key in catalog["stats"])


def test_a_static_page_has_it_too(project: DbtProject, generated: Outcome) -> None:
    page = (project.directory / "target" / "static_index.html").read_text(encoding="utf-8")
    assert project.head("totals")["metadata_sha"][:12] in page


def test_dbt_sees_no_model_as_changed(
    project: DbtProject, generated: Outcome, tmp_path: Path
) -> None:
    """The decorated manifest as the state of a later run, with descriptions kept in Spark."""
    manifest = project.directory / "target" / "manifest.json"
    assert "snapshot_rows" in manifest.read_text()
    (tmp_path / "manifest.json").write_bytes(manifest.read_bytes())
    listing = ["ls", "-s", "state:modified", "--state", str(tmp_path)]
    assert project.invoke(*listing).value in (None, [])
    project.write({"models/totals.sql": MODELS["models/totals.sql"] + " -- changed"})
    assert project.invoke(*listing).value == ["shop.totals"]


def test_damage_of_one_dataset_leaves_the_others(project: DbtProject, generated: Outcome) -> None:
    (record,) = project.root.glob("datasets/*/*orders/snapshots/*.json")
    record.write_bytes(record.read_bytes()[:-10])
    run = project.invoke("docs", "generate")
    assert run.success
    assert str(record) in run.note("dbt docs:")
    assert "snapshot_rows" not in pages(project, "orders")[0]["meta"]
    assert pages(project, "totals")[0]["meta"]["snapshot_rows"] == "1"
