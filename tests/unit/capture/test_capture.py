"""What a snapshot says: identity, depth, redaction, sources, parents, annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dbt_snapshot_plugin.ops.capture import Captured
from tests.unit.capture.world import World, table

SECRET = "ann.secret@example.org"


def captured(world: World, name: str) -> Captured:
    finished = world.build(name)
    assert finished is not None
    assert finished.captured.outcome != "failed", finished.captured.reason
    return finished.captured


def failure(world: World, name: str) -> str:
    finished = world.build(name)
    assert finished is not None
    assert finished.captured.outcome == "failed"
    world.assert_valid()
    return finished.captured.reason or ""


def stored_bytes(world: World) -> bytes:
    return b"".join(path.read_bytes() for path in world.root.rglob("*") if path.is_file())


def test_equal_builds_make_one_snapshot(world: World) -> None:
    world.model("orders")
    first, second = captured(world, "orders"), captured(world, "orders")
    assert (first.outcome, second.outcome) == ("new", "unchanged")
    assert first.metadata_sha == second.metadata_sha
    assert world.head("orders").seq == 1
    world.fill("orders", 4)
    assert captured(world, "orders").outcome == "new"
    assert world.head("orders").change == "data"


def test_data_that_comes_back_shares_its_objects(world: World) -> None:
    world.model("orders")
    first = captured(world, "orders")
    world.fill("orders", 4)
    captured(world, "orders")
    world.fill("orders", 3)
    third = captured(world, "orders")
    assert (third.seq, third.metadata_sha) == (3, first.metadata_sha)
    assert (
        world.head("orders").profile
        == world.repository.history(world.dataset("orders")).get(1).profile
    )


def test_other_code_is_a_version_of_the_same_data(world: World) -> None:
    world.model("orders")
    captured(world, "orders")
    world.nodes["model.shop.orders"]["raw_code"] = "select id, name from orders"
    assert captured(world, "orders").outcome == "metadata"
    world.assert_valid()


def test_annotations_need_no_new_version(world: World) -> None:
    world.model("orders", description="old", tags=["daily"], meta={"owner": "ann"})
    captured(world, "orders")
    node = world.nodes["model.shop.orders"]
    node.update(description="new", tags=["hourly"], meta={"owner": "bob"})
    assert captured(world, "orders").outcome == "unchanged"
    shown = world.shown("orders")
    assert shown["description"] == "new"
    assert shown["tags"] == {"hourly": ""}
    assert shown["metadata"] == {"owner": "bob"}
    assert world.head("orders").description == "old"


def test_a_new_parent_version_is_a_new_version(world: World) -> None:
    world.model("orders")
    world.model("totals", reads=["orders"], rows=1)
    hook = world.hook()
    for name in ("orders", "totals"):
        world.build(name, hook=hook)
    world.fill("orders", 4)
    hook = world.hook()
    world.build("orders", hook=hook)
    finished = world.build("totals", hook=hook)
    assert finished is not None
    assert finished.captured.outcome == "metadata"
    (parent,) = world.head("totals").parents
    assert (parent.seq, parent.basis) == (2, "captured")
    assert parent.metadata_sha == world.head("orders").metadata_sha


def test_views_and_ephemerals_are_looked_through(world: World) -> None:
    world.model("orders")
    world.model("cleaned", reads=["orders"], materialized="view")
    world.model("inner", reads=["cleaned"], materialized="ephemeral", hook=False)
    world.model("totals", reads=["inner"])
    hook = world.hook()
    for name in ("orders", "cleaned", "totals"):
        world.build(name, hook=hook)
    parents = {p.unique_id.rsplit(".", 1)[-1]: p for p in world.head("totals").parents}
    assert parents["orders"].basis == "captured"
    assert not parents["orders"].looked_through
    assert parents["cleaned"].looked_through
    assert (parents["inner"].basis, parents["inner"].reason) == (
        "unpinned",
        "nothing of it is stored",
    )
    before = world.head("totals").metadata_sha
    world.settings["views"] = "off"  # which views were captured does not show in the identity
    hook = world.hook()
    world.build("cleaned", hook=hook)
    world.build("totals", hook=hook)
    assert world.head("totals").metadata_sha == before
    world.nodes["model.shop.inner"]["raw_code"] = "select 1"
    world.build("totals")
    assert world.head("totals").metadata_sha != before


def test_a_parent_that_moves_meanwhile_is_not_pinned(world: World) -> None:
    world.model("orders")
    unique_id = world.model("totals", reads=["orders"])
    world.build("orders")
    hook = world.hook()
    hook.node_started(unique_id)
    world.fill("orders", 5)
    world.build("orders")
    hook.node_marked(unique_id)
    hook.node_finished(unique_id, "success")
    (parent,) = world.head("totals").parents
    assert (parent.basis, parent.metadata_sha) == ("raced", None)


def test_a_deferred_parent_is_not_taken_for_the_one_here(world: World) -> None:
    world.model("orders", defer_relation={"relation_name": "`prod`.`orders`"})
    world.model("totals", reads=["orders"], compiled_code="select * from `prod`.`orders`")
    world.model("local", reads=["orders"], compiled_code="select * from `shop`.`orders`")
    world.build("orders")
    world.build("totals")
    world.build("local")
    (parent,) = world.head("totals").parents
    assert (parent.basis, parent.reason) == (
        "unpinned",
        "prod.orders was read instead of it (--defer)",
    )
    assert world.head("local").parents[0].basis == "captured"


def test_sources_are_captured_before_their_first_reader(world: World, tmp_path: Path) -> None:
    files = tmp_path / "events"
    files.mkdir()
    (files / "part-0.parquet").write_bytes(b"one")
    world.source("events")
    world.spark.locations["raw.events"] = f"file:{files}"
    world.model("clicks", reads=["events"])
    world.model("visits", reads=["events"])
    hook = world.hook()
    world.build("clicks", hook=hook)
    world.build("visits", hook=hook)
    source = world.head("events")
    assert (source.depth, source.num_rows, source.hash_algo) == ("schema", None, "file-listing-1")
    assert source.source_files is not None
    assert source.code_sha is None
    assert "num_rows" in source.not_computed
    for name in ("clicks", "visits"):
        (parent,) = world.head(name).parents
        assert (parent.basis, parent.metadata_sha) == ("schema", source.metadata_sha)
    assert world.spark.scans == ["shop.clicks", "shop.visits"]
    builds = list(world.repository.events(world.dataset("events")).builds())
    assert len(builds) == 1
    clicks = world.last_build("clicks")
    assert clicks is not None
    assert builds[0].ended is not None
    assert builds[0].started.invocation_id is None
    (files / "part-1.parquet").write_bytes(b"two")
    before = world.head("clicks").metadata_sha
    assert captured(world, "clicks").metadata_sha == before  # its content is not known that way
    assert world.head("events").seq == 2


def test_a_source_that_can_not_be_read(world: World) -> None:
    world.source("events")
    world.model("clicks", reads=["events"])
    world.spark.tables.pop("raw.events")
    done = captured(world, "clicks")
    (parent,) = world.head("clicks").parents
    assert parent.basis == "unpinned"
    assert parent.reason == (
        "it has no snapshot in this env: the relation raw.events does not exist"
    )
    assert "source events is not pinned" in done.warnings[0]


def test_a_wrong_setting_of_a_source_is_told(world: World) -> None:
    world.source("events", meta={"dbt_snapshot": {"depth": "deep"}})
    world.model("clicks", reads=["events"])
    (warning,) = captured(world, "clicks").warnings
    assert "depth is 'deep', which is none of full, schema" in warning


@pytest.mark.parametrize(("setting", "depth", "rows"), [("off", None, None), ("full", "full", 2)])
def test_sources_as_they_are_set(tmp_path: Path, setting: str, depth: Any, rows: Any) -> None:
    world = World(tmp_path, sources=setting)
    world.source("events")
    world.model("clicks", reads=["events"])
    captured(world, "clicks")
    head = world.repository.history(world.dataset("events")).head()
    assert (head.depth, head.num_rows) == (depth, rows) if head else depth is None


@pytest.mark.parametrize(
    "mark",
    [
        {"columns": {"Email": {"name": "Email", "tags": ["pii"]}}},
        {"columns": {"email": {"name": "email", "config": {"tags": ["pii"]}}}},
        {"columns": {"email": {"name": "email", "meta": {"pii": True}}}},
        {"columns": {"email": {"name": "email", "config": {"meta": {"pii": "high"}}}}},
        {"columns": {"email": {"name": "email", "meta": {"dbt_snapshot": {"pii": True}}}}},
        {"meta": {"dbt_snapshot": {"redact": ["EMAIL"]}}},
    ],
    ids=str,
)
def test_no_value_of_a_redacted_column_is_stored(world: World, mark: dict[str, Any]) -> None:
    values = pa.array([SECRET, SECRET, SECRET], pa.string())
    world.model("people", table(3, email=values, age=pa.array([1, 2, 99173], pa.int64())), **mark)
    captured(world, "people")
    assert world.head("people").redacted_columns == ["email"]
    content = stored_bytes(world)
    assert b"99173" in content  # the search itself would find a value
    assert SECRET.encode() not in content
    assert b"null_count" in content
    world.assert_valid()


def test_redacting_a_column_is_a_new_version(world: World) -> None:
    world.model("people")
    captured(world, "people")
    world.settings["redact"] = ["name", "phone"]
    done = captured(world, "people")
    assert (done.outcome, done.warnings) == ("metadata", ())
    assert world.head("people").redacted_columns == ["name"]


def test_what_a_project_redacts_no_model_uncovers(tmp_path: Path) -> None:
    world = World(tmp_path, redact=["name"])
    world.model("people", meta={"dbt_snapshot": {"redact": ["id"]}})
    captured(world, "people")
    assert world.head("people").redacted_columns == ["id", "name"]


def test_a_mark_that_fits_no_column_is_told(world: World) -> None:
    world.model("people", columns={"e_mail": {"name": "e_mail", "tags": ["pii"]}})
    (warning,) = captured(world, "people").warnings
    assert warning == "shop.people has no column 'e_mail', which is marked as pii"


def test_a_volatile_column_is_no_identity(world: World) -> None:
    def loaded(at: str) -> pa.Table:
        return table(2, loaded_at=pa.array([at, at], pa.string()))

    world.settings["volatile"] = ["LOADED_AT", "synced_at"]
    world.model("orders", loaded("monday"))
    world.model("other")
    captured(world, "orders")
    world.fill("orders", loaded("tuesday"))
    assert captured(world, "orders").outcome == "unchanged"
    assert world.head("orders").volatile_columns == ["loaded_at"]
    assert captured(world, "other").warnings == ()
    world.fill("orders", table(2, loaded_at=pa.array(["x", "y"]), more=pa.array([1, 2])))
    assert captured(world, "orders").outcome == "new"


@pytest.mark.parametrize(
    ("on_empty", "outcome", "warned"),
    [("allow", "new", False), ("warn", "new", True), ("skip", "skipped", False)],
)
def test_no_rows(tmp_path: Path, on_empty: str, outcome: str, warned: bool) -> None:
    world = World(tmp_path, on_empty=on_empty)
    world.model("orders", rows=0)
    done = captured(world, "orders")
    assert done.outcome == outcome
    assert done.warnings == (("shop.orders has 0 rows",) if warned else ())
    if outcome == "skipped":
        assert done.reason == "it has 0 rows and on_empty is skip"
        build = world.last_build("orders")
        assert build is not None
        assert build.ended is not None
        assert not build.ended.captured
    else:
        assert world.head("orders").num_rows == 0
    world.assert_valid()


def test_no_rows_can_be_an_error(tmp_path: Path) -> None:
    world = World(tmp_path, on_empty="error")
    world.model("orders", rows=0)
    assert "shop.orders has 0 rows and on_empty is error" in failure(world, "orders")


def test_too_large_a_relation_is_not_scanned(tmp_path: Path) -> None:
    world = World(tmp_path, max_scan_bytes=10)
    world.model("orders")
    (warning,) = captured(world, "orders").warnings
    assert "recorded at depth schema" in warning
    assert "max_scan_bytes is 10" in warning
    head = world.head("orders")
    assert (head.depth, head.num_rows, head.profile) == ("schema", None, None)
    assert world.spark.scans == []
    world.assert_valid()


@pytest.mark.parametrize("setting", [{"depth": "schema"}, {"views": "schema"}], ids=str)
def test_depth_schema_when_asked(tmp_path: Path, setting: dict[str, Any]) -> None:
    world = World(tmp_path, **setting)
    world.model("orders", materialized="view")
    assert captured(world, "orders").warnings == ()
    assert world.head("orders").hash_algo == "schema-only-1"
    assert world.spark.scans == []


def test_a_type_without_a_hash(world: World) -> None:
    """The identity can't rest on the values then, but all that was seen is kept."""
    world.spark.spark_types["took"] = "interval day"
    world.model("jobs", table(3, took=pa.array([1, 2, 3], pa.int64())))
    done = captured(world, "jobs")
    (warning,) = done.warnings
    assert warning.startswith("shop.jobs is recorded at depth schema: ")
    assert "took (interval day)" in warning
    head = world.head("jobs")
    assert (head.depth, head.num_rows) == ("schema", 3)
    assert "id" in world.shown("jobs")["column_stats"]
    assert captured(world, "jobs").outcome == "unchanged"
    world.assert_valid()


def test_another_relation_in_the_same_env_is_refused(world: World) -> None:
    world.model("orders")
    captured(world, "orders")
    world.nodes["model.shop.orders"]["relation_name"] = "`Shop`.`Orders`"  # Spark: the same
    world.spark.tables["Shop.Orders"] = table(3)
    assert captured(world, "orders").outcome == "unchanged"
    world.nodes["model.shop.orders"]["relation_name"] = "`other`.`orders`"
    world.spark.tables["other.orders"] = table(3)
    reason = failure(world, "orders")
    assert "is the history of shop.orders, but this build wrote other.orders" in reason
    assert "DBT_SNAPSHOT_ENV" in reason


def test_a_relation_that_is_written_to_meanwhile(world: World, tmp_path: Path) -> None:
    files = tmp_path / "orders"
    files.mkdir()
    world.model("orders")
    world.spark.locations["shop.orders"] = str(files)
    scan = world.spark.profile
    writes = iter([True, False, False])

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        if next(writes, True):
            (files / f"part-{len(world.spark.scans)}.parquet").write_bytes(b"more")
        return scan(*args, **kwargs)

    world.spark.profile = interrupted  # type: ignore[method-assign]
    captured(world, "orders")
    assert len(world.spark.scans) == 2
    writes = iter(())
    assert "keeps changing while it is read" in failure(world, "orders")


def test_a_seed_is_its_bytes(world: World, tmp_path: Path) -> None:
    seed = tmp_path / "seeds" / "countries.csv"
    seed.parent.mkdir()
    seed.write_text("id,name\n1,ch\n")
    world.model("countries", kind="seed", original_file_path="seeds/countries.csv")
    captured(world, "countries")
    seed.write_text("id,name\n1,CH\n")
    assert captured(world, "countries").outcome == "metadata"
    seed.unlink()
    assert "the seed's file can't be read" in failure(world, "countries")


def test_event_time_is_not_denied(world: World) -> None:
    world.model("orders", config={"event_time": "ordered_at"})
    captured(world, "orders")
    assert "ordered_at" in world.head("orders").not_computed["min_timestamp"]


def test_producer_and_facts(world: World) -> None:
    world.model("orders", fqn=["shop", "staging", "orders"])
    captured(world, "orders")
    head = world.head("orders")
    assert head.pipeline_stage == "cleaned"
    assert head.producer.task == "SNAPSHOT"
    assert head.versions["dbt_snapshot_plugin"]
    assert head.invocation_id is not None
