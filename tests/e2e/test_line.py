"""The whole line on the example project: dbt, Spark and Great Expectations in this process.

One story, told in the order of the tests of this module; each step is made once, by a fixture.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt_snapshot_plugin.cli.app import run as run_cli
from dbt_snapshot_plugin.ops.open_store import Store, open_store
from dbt_snapshot_plugin.ops.profile import profile_path
from scripts.demo import Demo
from tests.functional.project import environment

pytestmark = [pytest.mark.e2e, pytest.mark.spark]

MODELS = {
    "dim_customers",
    "fct_daily_sales",
    "fct_order_events",
    "fct_orders",
    "fct_sales_by_day",
    "int_order_totals",
    "stg_customers",
    "stg_order_items",
    "stg_orders",
    "stg_products",
    "stg_stores",
}
JUDGED = {"dim_customers", "fct_daily_sales", "fct_orders"}


@pytest.fixture(scope="module")
def demo(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    home = tmp_path_factory.mktemp("demo")
    before = Path.cwd()
    with environment({}):
        demo = Demo(home / "demo")
        demo.prepare()
        yield demo
    os.chdir(before)
    for schema in ("coffee", "coffee_raw"):
        spark.sql(f"drop schema if exists {schema} cascade")


@pytest.fixture(scope="module")
def store(demo: Demo) -> Callable[[], Store]:
    return lambda: open_store(demo.project / ".dbt_snapshot")


@pytest.fixture(scope="module")
def built(demo: Demo) -> Demo:
    demo.script("make_data")
    demo.dbt("deps")
    demo.dbt("seed")
    demo.dbt("run")
    return demo


@pytest.fixture(scope="module")
def rebuilt(built: Demo) -> Demo:
    built.dbt("run")
    return built


@pytest.fixture(scope="module")
def judged(rebuilt: Demo) -> Demo:
    rebuilt.script("run_gx")
    rebuilt.snapshot("qa", "ingest")
    return rebuilt


@pytest.fixture(scope="module")
def broken(judged: Demo) -> Demo:
    judged.script("make_data", "--break")
    judged.dbt("run")
    return judged


@pytest.fixture(scope="module")
def failed(broken: Demo) -> Demo:
    broken.script("run_gx", expect=1)
    broken.snapshot("qa", "ingest")
    return broken


def short(unique_id: str) -> str:
    return unique_id.rsplit(".", 1)[-1]


def states(store: Callable[[], Store]) -> dict[str, str]:
    return {short(row.dataset): row.qa_state for row in store().list()}


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert run_cli([*arguments, "--output", "json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_every_model_has_one_snapshot(built: Demo, store: Callable[[], Store]) -> None:
    rows = {short(row.dataset): row for row in store().list()}
    assert set(rows) >= MODELS | {"loyalty_tiers"}
    assert {rows[name].seq for name in MODELS} == {1}
    assert rows["fct_orders"].num_rows == 39_732


def test_every_parent_is_pinned(built: Demo, store: Callable[[], Store]) -> None:
    for name in sorted(MODELS):
        parents = store().show(name)["parents"]
        assert parents
        for parent in parents:
            if parent["unique_id"].endswith("int_order_lines"):  # ephemeral: nothing to pin
                assert parent["looked_through"] is True
                continue
            wanted = "schema" if parent["unique_id"].startswith("source.") else "captured"
            assert parent["basis"] == wanted, (name, parent)
            assert parent["metadata_sha"] == store().show(parent["unique_id"])["metadata_sha"]


def test_nobody_has_judged_it_yet(
    built: Demo, store: Callable[[], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(states(store).values()) == {"UNKNOWN"}
    found = as_json(capsys, "gate", code=1)
    assert found["result"] == "FAIL"
    assert {r["code"] for d in found["datasets"] for r in d["reasons"]} == {"unchecked"}


def test_the_same_data_sha_without_spark(
    built: Demo, store: Callable[[], Store], spark: Any
) -> None:
    for name in ("fct_orders", "dim_customers", "fct_order_events"):
        shown = store().show(name)
        location = shown["dataset_path"].removeprefix("file:")
        assert profile_path(location).data_sha == shown["data_sha"]


def test_a_rebuild_mints_no_version(rebuilt: Demo, store: Callable[[], Store]) -> None:
    assert {row.seq for row in store().list()} == {1}
    repository = store().repository
    for dataset in repository.datasets():
        build = repository.events(dataset).last_build()
        assert build is not None
        assert build.ended is not None
        if short(dataset.unique_id) in MODELS:
            assert build.ended.outcome == "unchanged"


def test_a_pass_is_bound_to_the_data(
    judged: Demo, store: Callable[[], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    found = states(store)
    assert {name for name, state in found.items() if state == "PASS"} == JUDGED
    status = store().show("fct_orders")["qa_status"]
    assert status["invariants"]["warnings"] == 1
    assert as_json(capsys, "gate", "--allow-unchecked")["result"] == "PASS"
    assert as_json(capsys, "gate", code=1)["result"] == "FAIL"


def test_ingesting_again_changes_nothing(
    judged: Demo, store: Callable[[], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    files = sorted((judged.project / ".dbt_snapshot").rglob("*.json"))
    found = as_json(capsys, "qa", "ingest")
    assert {row["state"] for row in found["results"]} == {"PASS"}
    assert sorted((judged.project / ".dbt_snapshot").rglob("*.json")) == files


def test_changed_data_loses_the_verdict_and_unchanged_data_keeps_it(
    broken: Demo, store: Callable[[], Store]
) -> None:
    rows = {short(row.dataset): row for row in store().list()}
    assert rows["fct_orders"].seq == 2
    assert rows["fct_orders"].change == "data"
    assert rows["fct_orders"].qa_state == "UNKNOWN"
    # the faulty orders name no customer: same customers as before, built from other orders
    assert rows["dim_customers"].change == "metadata"
    assert rows["dim_customers"].qa_state == "PASS"
    assert rows["stg_products"].seq == 1


def test_a_failure_fails_the_gate(
    failed: Demo, store: Callable[[], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    assert states(store)["fct_orders"] == "FAIL"
    found = as_json(capsys, "gate", "--allow-unchecked", "--allow-unknown", code=1)
    (row,) = [d for d in found["datasets"] if d["result"] == "FAIL"]
    assert row["dataset"].endswith("model.coffee_shop.fct_orders")
    assert "customer_id" in row["reasons"][0]["text"]
    # the data before it passed, and still does
    assert store().show("fct_orders@1")["qa_status"]["state"] == "PASS"


def test_docs_show_it_on_the_page(failed: Demo) -> None:
    failed.dbt("docs", "generate")
    target = failed.project / "target"
    manifest = json.loads((target / "manifest.json").read_text())
    catalog = json.loads((target / "catalog.json").read_text())
    unique_id = "model.coffee_shop.fct_orders"
    meta = manifest["nodes"][unique_id]["meta"]
    assert meta["qa_status"] == "FAIL"
    assert meta["snapshot_rows"] == "39,972"
    assert meta["dataset_snapshot"].startswith("#2 ")
    assert "customer_id" in catalog["nodes"][unique_id]["stats"]["dbt_snapshot_qa"]["value"]


def test_validate_finds_one_flipped_bit(failed: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    assert as_json(capsys, "validate")["result"] == "PASS"
    root = failed.project / ".dbt_snapshot"
    record = sorted(root.rglob("snapshots/*.json"))[3]
    whole = record.read_bytes()
    record.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    found = as_json(capsys, "validate", code=1)
    assert any(str(record.relative_to(root)) in error for error in found["errors"])
    record.write_bytes(whole)
    assert as_json(capsys, "validate")["result"] == "PASS"
