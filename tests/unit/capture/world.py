"""A dbt project in memory: the product's own recorder, hook and store over tables of Arrow.

    world = World(tmp_path)
    world.model("orders", rows=3)
    world.model("totals", reads=["orders"])
    finished = world.build("orders")          # what dbt and its hook do for one node

Only Spark is replaced; profiles are real.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from dbt_snapshot_plugin.bridges.dbt_graph import graph_from_json
from dbt_snapshot_plugin.bridges.dbt_host import DbtTarget, Invocation
from dbt_snapshot_plugin.bridges.spark import RelationFacts, SparkHost
from dbt_snapshot_plugin.model.errors import CaptureError
from dbt_snapshot_plugin.model.events import Build
from dbt_snapshot_plugin.model.graph import Graph
from dbt_snapshot_plugin.model.ids import new_id
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.hook import Finished, Hook
from dbt_snapshot_plugin.ops.recorder import Recorder
from dbt_snapshot_plugin.ops.settings import Settings
from dbt_snapshot_plugin.ops.show import show
from dbt_snapshot_plugin.ops.validate import validate
from dbt_snapshot_plugin.store.backend import Backend
from dbt_snapshot_plugin.store.local import LocalBackend
from dbt_snapshot_plugin.store.repository import Repository, open_repository
from spark_profiler import ProfileOptions, profile_arrow

PROFILE = "macro.dbt_snapshot.profile"
HOOK = "{{ dbt_snapshot.profile() }}"
ENV = "dev.shop"


@dataclass
class FakeFrame:
    relation: str
    table: pa.Table
    spark_types: dict[str, str]

    @property
    def columns(self) -> list[str]:
        return list(self.table.schema.names)

    @property
    def schema(self) -> list[tuple[str, str]]:
        names = {pa.int64(): "bigint", pa.string(): "string", pa.float64(): "double"}
        return [(f.name, self.spark_types.get(f.name) or names[f.type]) for f in self.table.schema]


@dataclass
class FakeSpark:
    """Stands where Spark does; a relation that is not among the tables does not exist."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    views: set[str] = field(default_factory=set)
    locations: dict[str, str] = field(default_factory=dict)
    spark_types: dict[str, str] = field(default_factory=dict)
    error: Exception | None = None
    scans: list[str] = field(default_factory=list)

    def describe(self, relation: str) -> RelationFacts:
        if self.error is not None:
            raise self.error
        if relation not in self.tables:
            raise CaptureError(f"the relation {relation} does not exist", next_step="build it")
        is_view = relation in self.views
        provider = "unknown" if is_view else "parquet"
        return RelationFacts(relation, is_view, provider, self.locations.get(relation))

    def frame(self, relation: str) -> FakeFrame:
        return FakeFrame(relation, self.tables[relation], self.spark_types)

    def estimated_bytes(self, frame: FakeFrame) -> int | None:
        return int(frame.table.nbytes)

    def profile(
        self, frame: FakeFrame, relation: str, *, volatile: tuple[str, ...], high_null: float
    ) -> Any:
        self.scans.append(relation)
        options = ProfileOptions(volatile=volatile, high_null=high_null)
        return profile_arrow(frame.table, frame.schema, options)

    def schema_profile(self, frame: FakeFrame, relation: str) -> Any:
        return profile_arrow(frame.table.slice(0, 0), frame.schema)


class _Recorder(Recorder):
    spark: FakeSpark

    def host(self) -> SparkHost:
        return cast(SparkHost, self.spark)


class World:
    def __init__(self, directory: Path, **settings: Any) -> None:
        self.directory = directory
        self.root = directory / "store"
        self.settings: Any = {"root": str(self.root), **settings}
        self.cli_vars: dict[str, Any] = {}
        self.target_name = "dev"
        self.spark = FakeSpark()
        self.nodes: dict[str, Any] = {}
        self.sources: dict[str, Any] = {}
        self.macros: dict[str, Any] = {
            PROFILE: {"package_name": "dbt_snapshot", "macro_sql": "…", "depends_on": {}}
        }
        self.partial: str | None = None
        self.wrap: Callable[[Backend], Backend] | None = None

    def model(
        self,
        name: str,
        rows: int | pa.Table = 3,
        *,
        reads: Iterable[str] = (),
        hook: bool = True,
        materialized: str = "table",
        kind: str = "model",
        **fields: Any,
    ) -> str:
        """A node that dbt builds, and its table; `fields` replaces what manifest.json has."""
        unique_id = f"{kind}.shop.{name}"
        config = {
            "materialized": materialized,
            "post-hook": [{"sql": HOOK}] if hook else [],
            **fields.pop("config", {}),
        }
        self.nodes[unique_id] = {
            "unique_id": unique_id,
            "resource_type": kind,
            "name": name,
            "package_name": "shop",
            "relation_name": f"`shop`.`{name}`",
            "original_file_path": f"models/{name}.sql",
            "fqn": ["shop", name],
            "raw_code": f"select * from {name}",
            "config": config,
            "depends_on": {
                "nodes": [self.id_of(parent) for parent in reads],
                "macros": [PROFILE] if hook else [],
            },
            **fields,
        }
        self.fill(name, rows)
        if materialized == "view":
            self.spark.views.add(f"shop.{name}")
        return unique_id

    def source(self, name: str, **fields: Any) -> str:
        unique_id = f"source.shop.raw.{name}"
        self.sources[unique_id] = {
            "unique_id": unique_id,
            "resource_type": "source",
            "name": name,
            "package_name": "shop",
            "relation_name": f"`raw`.`{name}`",
            **fields,
        }
        self.spark.tables[f"raw.{name}"] = table(2)
        return unique_id

    def fill(self, name: str, rows: int | pa.Table) -> None:
        self.spark.tables[f"shop.{name}"] = table(rows) if isinstance(rows, int) else rows

    def id_of(self, name: str) -> str:
        known = [*self.nodes, *self.sources]
        return next(uid for uid in known if uid.rsplit(".", 1)[-1] == name)

    @property
    def graph(self) -> Graph:
        return graph_from_json(
            {"nodes": self.nodes, "sources": self.sources, "macros": self.macros}
        )

    @property
    def target(self) -> DbtTarget:
        return DbtTarget(
            project_name="shop",
            project_dir=self.directory,
            target_dir=self.directory / "target",
            profiles_dir=None,
            name=self.target_name,
            schema="shop",
            adapter="spark",
            method="session",
            parameters={},
            project_vars={"dbt_snapshot": self.settings},
            cli_vars=self.cli_vars,
            package_vars={},
        )

    def recorder(self) -> Recorder:
        invocation = Invocation(new_id(), "run", self.partial)
        recorder = _Recorder(self.target, self.graph, invocation)
        recorder.spark = self.spark
        if self.wrap is not None:
            recorder.repository = Repository(self.wrap(LocalBackend(self.root)))
        return recorder

    def hook(self) -> Hook:
        """Of one dbt run."""
        return Hook(self.recorder, lambda: Settings(self.target, {}).project)

    def build(
        self, name: str, status: str = "success", *, marks: bool | None = None, hook: Any = None
    ) -> Finished | None:
        """One node of a run; its post-hook runs if it has one and the build succeeds."""
        hook = hook or self.hook()
        unique_id = self.id_of(name)
        hook.node_started(unique_id)
        has_hook = bool(self.nodes[unique_id]["config"]["post-hook"])
        if has_hook and status == "success" if marks is None else marks:
            hook.node_marked(unique_id)
        return cast("Finished | None", hook.node_finished(unique_id, status))

    @property
    def repository(self) -> Repository:
        return open_repository(self.root)

    def head(self, name: str) -> Manifest:
        head = self.repository.history(self.dataset(name)).head()
        assert head is not None, f"{name} has no snapshot"
        return head

    def shown(self, name: str) -> dict[str, Any]:
        return show(self.repository, name).document

    def dataset(self, name: str) -> Dataset:
        return Dataset(ENV, self.id_of(name))

    def last_build(self, name: str) -> Build | None:
        return self.repository.events(self.dataset(name)).last_build()

    def state(self, name: str) -> tuple[str, list[str]]:
        """The effective QA state, and the codes of its reasons."""
        status = self.shown(name)["qa_status"]
        return status["state"], [reason["code"] for reason in status.get("reasons", [])]

    def assert_valid(self) -> None:
        """Nothing half-written: the store is sound and nothing waits in staging."""
        result = validate(self.repository)
        assert result.errors == []
        staging = self.root / "staging"
        assert not staging.exists() or not any(staging.iterdir())


def table(rows: int, **columns: Any) -> pa.Table:
    """`id` and `name`, and what else is given."""
    plain: Mapping[str, Any] = {
        "id": pa.array(range(rows), pa.int64()),
        "name": pa.array([f"n{i}" for i in range(rows)], pa.string()),
    }
    return pa.table({**plain, **columns})
