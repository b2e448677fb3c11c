"""`list`: one row per dataset, or one per snapshot."""

from __future__ import annotations

import pytest

from dbt_snapshot_plugin.model.errors import StoreError, UnknownReferenceError, UsageError
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.listing import LAST, list_datasets, list_snapshots
from dbt_snapshot_plugin.store.memory import MemoryBackend
from dbt_snapshot_plugin.store.repository import Repository
from tests.factories import (
    ENV,
    ORDERS,
    add_build,
    add_evidence,
    add_snapshot,
    memory_store,
    shop_store,
)


@pytest.fixture
def repo() -> Repository:
    return shop_store(MemoryBackend())


def test_the_heads_of_all_datasets(repo: Repository) -> None:
    found = list_datasets(repo)
    assert [(r.dataset, r.seq, r.qa_state, r.change, r.num_rows) for r in found.rows] == [
        ("model.shop.dim_customers", 1, "FAIL", "first", 5),
        ("model.shop.fct_orders", 3, "PASS", "metadata", 4),
        ("model.shop.stg_orders", 1, "UNKNOWN", "first", 4),
    ]
    assert found.without_snapshot == []


def test_a_row_tells_what_its_manifest_tells(repo: Repository) -> None:
    row = list_datasets(repo).rows[1]
    head = repo.history(ORDERS).head()
    assert head is not None
    for name in ("env", "seq", "snapshot_id", "metadata_sha", "data_sha", "created_at"):
        assert getattr(row, name) == getattr(head, name)
    assert row.name is None


def test_a_dataset_that_was_only_built_is_named(repo: Repository) -> None:
    add_build(repo, Dataset(ENV, "model.shop.new"), minute=0)
    found = list_datasets(repo)
    assert found.without_snapshot == [f"{ENV}/model.shop.new"]
    assert len(found.rows) == 3


def test_a_build_without_a_capture_makes_the_head_unknown(repo: Repository) -> None:
    add_build(repo, ORDERS, minute=99)
    assert list_datasets(repo).rows[1].qa_state == "UNKNOWN"


def test_the_snapshots_of_one_dataset_newest_first(repo: Repository) -> None:
    found = list_snapshots(repo, "fct_orders")
    assert [(r.seq, r.change, r.qa_state) for r in found.rows] == [
        (3, "metadata", "PASS"),
        (2, "data", "PASS"),
        (1, "first", "UNKNOWN"),
    ]
    assert found.total == 3


def test_a_verdict_on_an_old_snapshot_stays() -> None:
    repo = memory_store(0)
    first = add_snapshot(repo, rows=3)
    add_evidence(repo, first, passed=False)
    second = add_snapshot(repo, rows=4)
    add_evidence(repo, second)
    states = {r.seq: r.qa_state for r in list_snapshots(repo, "fct_orders").rows}
    assert states == {1: "FAIL", 2: "PASS"}


def test_only_the_last_are_shown_unless_all_are_wanted() -> None:
    repo = Repository(MemoryBackend())
    for number in range(LAST + 2):
        add_snapshot(repo, rows=1 + number % 2, build=False)
    assert [r.seq for r in list_snapshots(repo, "fct_orders").rows] == list(range(52, 2, -1))
    found = list_snapshots(repo, "fct_orders", everything=True)
    assert [r.seq for r in found.rows] == list(range(52, 0, -1))
    assert found.total == 52


def test_a_dataset_without_snapshots_has_none_to_list() -> None:
    repo = memory_store(0)
    add_build(repo, ORDERS, minute=0)
    found = list_snapshots(repo, "fct_orders")
    assert (found.rows, found.total) == ([], 0)


@pytest.mark.parametrize("text", ["fct_orders@3", "dev.shop/fct_orders@HEAD"])
def test_one_snapshot_is_not_a_list(repo: Repository, text: str) -> None:
    with pytest.raises(UsageError, match="names one snapshot") as caught:
        list_snapshots(repo, text)
    assert f"dbt-snapshot show {text}" in (caught.value.next_step or "")


def test_an_unknown_dataset_is_an_error(repo: Repository) -> None:
    with pytest.raises(UnknownReferenceError, match="no dataset 'fct_order'") as caught:
        list_snapshots(repo, "fct_order")
    assert "fct_orders" in (caught.value.next_step or "")


def test_without_a_store_there_is_nothing_to_list() -> None:
    with pytest.raises(StoreError, match="no snapshot store"):
        list_datasets(Repository(MemoryBackend()))
