"""`show`: one object out of manifest, profile, verdict and the latest annotations."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_snapshot_plugin.model.errors import CorruptRecordError, UnknownReferenceError
from dbt_snapshot_plugin.ops.show import show
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.memory import MemoryBackend
from dbt_snapshot_plugin.store.repository import Repository
from tests.factories import ORDERS, add_build, add_snapshot, memory_store, shop_store


@pytest.fixture
def repo() -> Repository:
    return shop_store(MemoryBackend())


def test_manifest_and_profile_are_one_object(repo: Repository) -> None:
    found = show(repo, "fct_orders")
    document = found.document
    manifest = repo.history(ORDERS).head()
    assert manifest is not None
    assert document["snapshot_id"] == manifest.snapshot_id
    assert document["column_stats"]["order_id"]["max"] == 3
    assert len(document["row_minhash"]["hashvalues"]) == document["row_minhash"]["num_perm"]
    assert document["transform_description"] == document["message"] == "new tax rule"
    assert document["qa_status"]["state"] == "PASS"
    assert document["qa_status_at_commit"]["state"] == "UNKNOWN"
    assert document["parents"][0]["unique_id"] == "model.shop.stg_orders"
    assert "percentiles" in document["not_computed"]
    assert found.head_seq == 3
    assert found.notes == []


def test_a_snapshot_without_a_profile_has_what_the_manifest_has() -> None:
    repo = memory_store(0)
    reasons = {"column_stats": "recorded at depth schema: rows are not read"}
    fields: dict[str, Any] = {"depth": "schema", "profile": None, "num_rows": None}
    add_snapshot(repo, not_computed=reasons, **fields)
    document = show(repo, "fct_orders").document
    assert document["not_computed"] == reasons
    assert "num_rows" not in document
    assert "column_stats" not in document
    assert [c["name"] for c in document["columns"]] == ["order_id", "amount", "email"]


def test_annotations_are_those_of_the_newest_build() -> None:
    repo = memory_store(1)
    head = repo.history(ORDERS).head()
    texts: dict[str, Any] = {"description": "Better words.", "tags": {"core": ""}, "metadata": {}}
    add_build(repo, ORDERS, head, minute=50, outcome="unchanged", **texts)
    add_build(repo, ORDERS, minute=60, description="of a build that failed")
    document = show(repo, "fct_orders").document
    assert {key: document[key] for key in texts} == texts
    assert repo.history(ORDERS).head() == head


def test_an_older_snapshot_keeps_its_own_annotations() -> None:
    repo = memory_store(2)
    head = repo.history(ORDERS).head()
    add_build(repo, ORDERS, head, minute=50, description="Better words.")
    assert show(repo, "fct_orders@1").document["description"] == "One row per order."


def test_a_version_that_stands_twice_is_said_to() -> None:
    repo = memory_store(0)
    for rows in (3, 4, 3):
        add_snapshot(repo, rows=rows)
    sha = repo.history(ORDERS).get(1).metadata_sha[:12]
    found = show(repo, f"fct_orders@{sha}")
    assert found.document["seq"] == 3
    assert found.notes == [f"version {sha} stands at 3 and 1; this is the newest, 3"]
    assert show(repo, "fct_orders@1").notes == []


def test_a_damaged_profile_is_not_shown(repo: Repository) -> None:
    head = repo.history(ORDERS).head()
    assert head is not None
    assert head.profile is not None
    repo.backend.put(layout.object_key(head.profile.sha256), b"{}")
    with pytest.raises(CorruptRecordError, match="do not match"):
        show(repo, "fct_orders")


def test_what_is_not_there_is_an_error(repo: Repository) -> None:
    with pytest.raises(UnknownReferenceError, match="no snapshot @HEAD~7"):
        show(repo, "fct_orders@HEAD~7")
