"""Which builds are captured, what is noted of the others, and whom an error reaches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dbt_snapshot_plugin.ops.hook import failure_text
from tests.unit.capture.world import PROFILE, World

BOTH = pytest.mark.parametrize("on_error", ["warn", "fail"])


def outcomes(world: World, name: str) -> list[str]:
    """How each build of a node ended, oldest first."""
    builds = list(world.repository.events(world.dataset(name)).builds())
    return [b.ended.outcome if b.ended else "running" for b in reversed(builds)]


def test_a_marked_node_is_captured_once_it_is_finished(world: World) -> None:
    world.model("orders")
    finished = world.build("orders")
    assert finished is not None
    assert finished.captured.outcome == "new"
    assert not finished.fails_node
    assert world.head("orders").num_rows == 3
    world.assert_valid()


def test_the_start_is_noted_before_anything_is_built(world: World) -> None:
    world.model("orders")
    hook = world.hook()
    hook.node_started("model.shop.orders")
    build = world.last_build("orders")
    assert build is not None
    assert build.ended is None


def test_without_a_hook_nothing_is_written(world: World) -> None:
    world.model("orders", hook=False)
    assert world.build("orders") is None
    assert not world.root.exists()


def test_trigger_model_needs_no_hook(tmp_path: Path) -> None:
    world = World(tmp_path, trigger="model")
    world.model("orders", hook=False)
    assert world.build("orders") is not None
    assert world.head("orders").seq == 1


def test_a_macro_of_the_project_may_call_ours(world: World) -> None:
    world.model("orders", hook=False)
    world.macros["macro.shop.audit"] = {
        "package_name": "shop",
        "macro_sql": "{% macro audit() %}{{ dbt_snapshot.profile() }}{% endmacro %}",
        "depends_on": {"macros": [PROFILE]},
    }
    world.nodes["model.shop.orders"]["depends_on"]["macros"] = ["macro.shop.audit"]
    finished = world.build("orders", marks=True)
    assert finished is not None
    assert finished.captured.outcome == "new"


def test_a_call_that_the_graph_does_not_know_of_is_enough(world: World) -> None:
    world.model("raw")
    world.model("orders", reads=["raw"], hook=False)
    hook = world.hook()
    world.build("raw", hook=hook)
    world.build("orders", marks=True, hook=hook)
    (parent,) = world.head("orders").parents
    assert parent.basis == "captured"
    assert outcomes(world, "orders") == ["new"]
    world.build("orders", marks=True)  # now it has a history, so its start is noted at once
    assert outcomes(world, "orders") == ["new", "unchanged"]


def test_a_hook_that_did_not_run_is_no_wish(world: World) -> None:
    """For a macro that asks only on some targets."""
    world.model("orders")
    assert world.build("orders", marks=False) is None
    build = world.last_build("orders")
    assert build is not None
    assert build.ended is not None
    assert build.ended.reason == "its post-hook did not run"


def test_nested_pairs_are_one_build(world: World) -> None:
    """A microbatch model starts and finishes for every batch; its hook runs in the last one."""
    unique_id = world.model("orders")
    hook = world.hook()
    hook.node_started(unique_id)
    for last in (False, True):
        hook.node_started(unique_id)
        if last:
            hook.node_marked(unique_id)
        assert hook.node_finished(unique_id, "success") is None
    finished = hook.node_finished(unique_id, "success")
    assert finished is not None
    assert finished.captured.outcome == "new"
    assert outcomes(world, "orders") == ["new"]


@pytest.mark.parametrize("status", ["error", "partial success"])
def test_a_failed_build_makes_the_old_verdict_unknown(world: World, status: str) -> None:
    world.model("orders")
    world.build("orders")
    assert world.build("orders", status) is None
    assert world.head("orders").seq == 1
    assert world.state("orders") == ("UNKNOWN", ["uncaptured"])


def test_a_skipped_node_keeps_its_verdict(world: World) -> None:
    world.model("orders")
    world.build("orders")
    before = world.state("orders")
    assert world.build("orders", "skipped") is None
    assert world.state("orders") == before == ("UNKNOWN", ["unchecked"])


@pytest.mark.parametrize("flag", ["--empty", "--sample"])
def test_a_part_on_purpose_moves_no_head(world: World, flag: str) -> None:
    world.model("orders")
    world.build("orders")
    world.fill("orders", 0)
    world.partial = flag
    finished = world.build("orders")
    assert finished is not None
    assert finished.captured.outcome == "skipped"
    assert finished.captured.reason == f"{flag} builds only a part of it"
    assert world.head("orders").num_rows == 3
    assert world.state("orders") == ("UNKNOWN", ["uncaptured"])


OFF: list[dict[str, Any]] = [
    {"settings": {"enabled": False}},
    {"settings": {"targets": ["prod"]}},
    {"meta": {"enabled": False}},
    {"meta": {"targets": ["prod", "ci"]}},
    {"settings": {"views": "off"}, "materialized": "view"},
]


@pytest.mark.parametrize("off", OFF, ids=str)
def test_off_costs_nothing(tmp_path: Path, off: dict[str, Any]) -> None:
    world = World(tmp_path, **off.get("settings", {}))
    meta: Any = {"meta": {"dbt_snapshot": off["meta"]}} if "meta" in off else {}
    world.source("events")
    world.model("orders", reads=["events"], materialized=off.get("materialized", "table"), **meta)
    assert world.build("orders") is None
    assert not world.root.exists()
    assert world.spark.scans == []


@pytest.mark.parametrize("off", OFF, ids=str)
def test_what_is_off_may_still_age(tmp_path: Path, off: dict[str, Any]) -> None:
    """A build that is not captured makes the old verdict unknown, whoever turned it off."""
    world = World(tmp_path)
    world.source("events")
    world.model("orders", reads=["events"], materialized=off.get("materialized", "table"))
    world.build("orders")
    world.settings.update(off.get("settings", {}))
    if "meta" in off:
        world.nodes["model.shop.orders"]["meta"] = {"dbt_snapshot": off["meta"]}
    seen_before = len(outcomes(world, "events"))
    assert world.build("orders") is None
    assert world.state("orders") == ("UNKNOWN", ["uncaptured"])
    assert len(outcomes(world, "events")) == seen_before


def test_a_model_may_turn_itself_on(tmp_path: Path) -> None:
    world = World(tmp_path, enabled=False)
    world.model("orders", meta={"dbt_snapshot": {"enabled": True}})
    assert world.build("orders") is not None


def test_marks_while_parsing_are_no_builds(world: World) -> None:
    unique_id = world.model("orders")
    hook = world.hook()
    hook.node_marked(unique_id)
    assert hook.node_finished(unique_id, "success") is None
    assert not world.root.exists()


@BOTH
def test_a_capture_that_fails_leaves_the_build_alone(tmp_path: Path, on_error: str) -> None:
    world = World(tmp_path, on_error=on_error)
    world.model("orders")
    world.build("orders")
    world.spark.tables.clear()
    finished = world.build("orders")
    assert finished is not None
    assert finished.captured.outcome == "failed"
    assert finished.fails_node == (on_error == "fail")
    assert "shop.orders does not exist" in (finished.captured.reason or "")
    text = failure_text(finished.captured)
    assert "model.shop.orders was built" in text
    assert "dbt-snapshot capture" in text
    assert outcomes(world, "orders") == ["new", "failed"]
    assert world.state("orders") == ("UNKNOWN", ["uncaptured"])
    world.assert_valid()


def test_a_model_decides_on_its_own_errors(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.model("orders", meta={"dbt_snapshot": {"on_error": "fail"}})
    world.spark.tables.clear()
    finished = world.build("orders")
    assert finished is not None
    assert finished.fails_node


def test_an_unexpected_error_is_contained(world: World) -> None:
    world.model("orders")
    world.spark.error = RuntimeError("boom\n  at org.apache.Foo(Foo.java:1)")
    finished = world.build("orders")
    assert finished is not None
    assert finished.captured.reason == "internal error: RuntimeError: boom"
    assert outcomes(world, "orders") == ["failed"]


@BOTH
@pytest.mark.parametrize("hook", [True, False])
def test_a_wrong_setting_is_told(tmp_path: Path, hook: bool, on_error: str) -> None:
    """To whoever wrote it; only a node that asks for a snapshot may fail of it."""
    world = World(tmp_path, on_error=on_error, on_emty="warn")
    world.model("orders", hook=hook)
    finished = world.build("orders")
    assert finished is not None
    assert "unknown setting 'on_emty'" in (finished.captured.reason or "")
    assert "did you mean on_empty?" in (finished.captured.reason or "")
    assert finished.fails_node == (hook and on_error == "fail")
    assert not world.root.exists()


@pytest.mark.parametrize("place", ["project", "model"])
def test_a_wrong_setting_ends_the_old_verdict(world: World, place: str) -> None:
    world.model("orders")
    world.build("orders")
    if place == "project":
        world.settings["on_emty"] = "warn"
    else:
        world.nodes["model.shop.orders"]["meta"] = {"dbt_snapshot": {"on_emty": "warn"}}
    assert world.build("orders") is not None
    assert world.state("orders") == ("UNKNOWN", ["uncaptured"])
    assert "on_emty" in world.shown("orders")["qa_status"]["summary"]


def test_a_wrong_setting_changes_none_of_the_others(tmp_path: Path) -> None:
    world = World(tmp_path, env="mine", trigger="model", on_error="fail", depth="deep")
    world.model("orders", hook=False)
    assert world.recorder().env == "mine"
    finished = world.build("orders")
    assert finished is not None
    assert finished.fails_node


def test_a_wrong_setting_of_one_model_is_its_own(tmp_path: Path) -> None:
    world = World(tmp_path, on_error="fail")
    world.model("orders", meta={"dbt_snapshot": {"depht": "schema"}})
    world.model("customers")
    hook = world.hook()
    orders, customers = world.build("orders", hook=hook), world.build("customers", hook=hook)
    assert orders is not None
    assert orders.fails_node
    assert "meta.dbt_snapshot of model.shop.orders" in (orders.captured.reason or "")
    assert customers is not None
    assert customers.captured.outcome == "new"


@BOTH
@pytest.mark.parametrize("trigger", ["hook", "model"])
def test_a_store_that_is_a_file(tmp_path: Path, trigger: str, on_error: str) -> None:
    world = World(tmp_path, on_error=on_error, trigger=trigger)
    world.root.write_text("not a store")
    world.model("orders", hook=trigger == "hook")
    world.model("unasked", hook=False, meta={"dbt_snapshot": {"trigger": "hook"}})
    hook = world.hook()
    finished = world.build("orders", hook=hook)
    assert finished is not None
    assert "the store can't be read" in (finished.captured.reason or "")
    assert "DBT_SNAPSHOT_ROOT" in (finished.captured.reason or "")
    assert finished.fails_node == (on_error == "fail")
    assert world.build("unasked", hook=hook) is None


def test_a_failed_build_is_not_told_twice(tmp_path: Path) -> None:
    """dbt says itself that the model failed; that there would be no snapshot either is no news."""
    world = World(tmp_path)
    world.root.write_text("not a store")
    world.model("orders")
    assert world.build("orders", "error") is None


def test_a_damaged_head_is_told_and_repaired_by_nobody(world: World) -> None:
    world.model("orders")
    world.model("totals", reads=["orders"])
    hook = world.hook()
    world.build("orders", hook=hook)
    world.build("totals", hook=hook)
    (record,) = world.root.glob("datasets/*/*orders/snapshots/*.json")
    record.write_bytes(record.read_bytes().replace(b'"num_rows":3', b'"num_rows":4'))
    hook = world.hook()
    orders, totals = world.build("orders", hook=hook), world.build("totals", hook=hook)
    assert orders is not None
    assert orders.captured.outcome == "failed"
    assert str(record) in (orders.captured.reason or "")
    assert totals is not None
    (parent,) = world.head("totals").parents
    assert parent.basis == "unpinned"
    assert (parent.reason or "").startswith("its history can't be read")
    assert totals.captured.outcome == "metadata"


def test_the_end_of_a_build_that_can_not_be_written_is_a_failure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dbt_snapshot_plugin.model.errors import StoreError
    from dbt_snapshot_plugin.model.events import BuildEnded
    from dbt_snapshot_plugin.store.events import Events

    world.model("orders")
    write = Events.write

    def refuse(self: Events, body: Any) -> bool:
        if isinstance(body, BuildEnded):
            raise StoreError("disk full")
        return write(self, body)

    monkeypatch.setattr(Events, "write", refuse)
    finished = world.build("orders")
    assert finished is not None
    assert (finished.captured.outcome, finished.captured.reason) == ("failed", "disk full")
    assert world.state("orders") == ("UNKNOWN", ["uncaptured"])


def test_many_threads(world: World) -> None:
    """Chains of three on eight threads: no build is lost, and each source is looked at once."""
    world.source("events")
    chains = []
    for number in range(12):
        names = [f"a{number}", f"b{number}", f"c{number}"]
        for name, above in zip(names, ["events", *names], strict=False):
            world.model(name, reads=[above])
        chains.append(names)
    hook = world.hook()

    def build(names: list[str]) -> list[str]:
        done = [world.build(name, hook=hook) for name in names]
        return [f.captured.outcome for f in done if f is not None]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(build, chains)) == [["new"] * 3] * 12
    assert outcomes(world, "events") == ["new"]
    for names in chains:
        assert world.head(names[0]).parents[0].basis == "schema"
        assert world.head(names[2]).parents[0].basis == "captured"
    world.assert_valid()
