"""The captures of one dbt run: a build event before and after each, the capture in between.

The hook calls `begin` when dbt starts a node and `finish` when it is done with it; a capture after
the fact calls both at once. Thread-safe, since dbt builds on several threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

from dbt_snapshot_plugin.bridges.dbt_host import DbtTarget, Invocation
from dbt_snapshot_plugin.bridges.git import producer_of
from dbt_snapshot_plugin.bridges.spark import SparkHost, first_line, open_session
from dbt_snapshot_plugin.model.config import (
    Config,
    environment_layer,
    not_acted_on,
    resolve_config,
)
from dbt_snapshot_plugin.model.errors import HostError, SnapshotError
from dbt_snapshot_plugin.model.events import BuildEnded, BuildStarted
from dbt_snapshot_plugin.model.graph import Graph, Node, upstream
from dbt_snapshot_plugin.model.ids import format_time, new_id, now
from dbt_snapshot_plugin.model.manifest import Producer
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.capture import Captured, capture_node
from dbt_snapshot_plugin.ops.draft import RunFacts, plain_meta
from dbt_snapshot_plugin.ops.locate import ProjectContext
from dbt_snapshot_plugin.ops.pins import Heads, read_heads
from dbt_snapshot_plugin.store.repository import find_root, open_repository

SUCCESS = "success"
_VARS = "vars.dbt_snapshot"
_PACKAGES = {
    "dbt_snapshot_plugin": "dbt-snapshot-plugin",
    "dbt_core": "dbt-core",
    "dbt_spark": "dbt-spark",
    "pyspark": "pyspark",
}


@dataclass(frozen=True)
class Building:
    """One build that has begun; `heads` are its parents' heads at that moment."""

    node: Node
    dataset: Dataset
    config: Config
    started: BuildStarted
    heads: Heads


class Recorder:
    def __init__(
        self,
        target: DbtTarget,
        graph: Graph,
        invocation: Invocation,
        *,
        overrides: Mapping[str, Any] | None = None,
        root: str | None = None,
    ) -> None:
        """Raises at once if the project's settings are wrong or the store can't be opened."""
        self.target = target
        self.graph = graph
        self.invocation = invocation
        self._given = [
            ("command line", overrides or {}),
            ("environment", environment_layer(os.environ)),
        ]
        self._vars = (_VARS, target.settings)
        self.project_config = resolve_config([*self._given, self._vars])
        self.env = self.project_config.env or target.default_env
        self.repository = open_repository(project_root(target, root))
        self._lock = threading.RLock()
        self._host: SparkHost | None = None
        self._sources_seen: set[str] = set()

    def config_of(self, node: Node) -> Config:
        own = (f"meta.dbt_snapshot of {node.unique_id}", node.settings)
        return resolve_config([*self._given, own, self._vars])

    @cached_property
    def notes(self) -> list[str]:
        """What the user should know once per run."""
        idle = not_acted_on([*self._given, self._vars])
        return [f"this version does not act on: {', '.join(idle)}"] if idle else []

    def allows(self, node: Node, config: Config) -> bool:
        """Whether the settings let this node have snapshots at all."""
        on_target = not config.targets or self.target.name in config.targets
        return node.buildable and config.enabled and on_target

    def has_history(self, node: Node) -> bool:
        """A build of such a relation must be noted even if nobody asks for a snapshot of it."""
        return self.repository.history(self._dataset(node)).head_seq() > 0

    def begin(self, node: Node, config: Config, *, built_at: str | None = None) -> Building:
        """From here on what is known of the relation may be wrong: say so before it is touched."""
        self._prepare_store()
        dataset = self._dataset(node)
        started = BuildStarted(
            build_id=new_id(),
            started_at=format_time(now()),
            command=self.invocation.command,
            relation=node.relation or None,
            invocation_id=self.invocation.invocation_id,
            built_at=built_at,
        )
        self.repository.events(dataset).write(started)
        self._capture_sources(node)
        heads = read_heads(self.repository, self.graph, self.env, node.unique_id)
        return Building(node, dataset, config, started, heads)

    def finish(self, building: Building, status: str, *, unwanted: str | None = None) -> Captured:
        """Captures unless there is a reason not to; never raises for what a user can meet.

        `unwanted` is that reason where the caller knows one.
        """
        captured = self._outcome(building, status, unwanted)
        self._write_end(building, status, captured)
        return captured

    def _outcome(self, building: Building, status: str, unwanted: str | None) -> Captured:
        reason = unwanted
        if status != SUCCESS:
            reason = f"dbt's status is {status}"
        elif self.invocation.partial:
            reason = f"{self.invocation.partial} builds a part of the relation on purpose"
        if reason is not None:
            return Captured(building.dataset, "skipped", reason=reason)
        # its compiled code has appeared while it ran
        self.graph.forget(building.node.unique_id)
        node = self.graph.node(building.node.unique_id) or building.node
        try:
            return capture_node(
                self.host(),
                self.repository,
                self.graph,
                node,
                building.config,
                self.run_facts,
                heads_at_start=building.heads,
            )
        except SnapshotError as error:
            return Captured(building.dataset, "failed", reason=str(error))
        except Exception as error:  # noqa: BLE001 - a build event must end, whatever happened
            reason = f"internal error: {type(error).__name__}: {first_line(error)}"
            return Captured(building.dataset, "failed", reason=reason)

    def _write_end(self, building: Building, status: str, captured: Captured) -> None:
        node = building.node
        ended = BuildEnded(
            build_id=building.started.build_id,
            started_at=building.started.started_at,
            ended_at=format_time(now()),
            status=status,
            outcome=captured.outcome,
            reason=captured.reason,
            seq=captured.seq,
            snapshot_id=captured.snapshot_id,
            metadata_sha=captured.metadata_sha,
            data_sha=captured.data_sha,
            source_files=captured.source_files,
            invocation_id=self.invocation.invocation_id,
            description=node.description,
            tags=dict.fromkeys(node.tags, ""),
            metadata=plain_meta(node.meta),
        )
        self.repository.events(building.dataset).write(ended)

    def host(self) -> SparkHost:
        """Spark, as dbt itself opens it; opened when the first capture needs it."""
        with self._lock:
            if self._host is None:
                if self.target.method != "session":
                    raise HostError(
                        f"a relation can't be read over method {self.target.method!r} "
                        f"of {self.target.adapter} yet, only over method 'session'",
                        where=f"target {self.target.name}",
                        next_step="set enabled: false for this target (vars.dbt_snapshot.targets)",
                    )
                self._host = SparkHost(open_session(self.target.parameters))
            return self._host

    @cached_property
    def run_facts(self) -> RunFacts:
        return RunFacts(
            env=self.env,
            project_dir=self.target.project_dir,
            producer=self._producer,
            versions=_versions(),
            lookup_var=self.target.lookup_var,
            environ=os.environ,
            invocation_id=self.invocation.invocation_id,
        )

    @cached_property
    def _producer(self) -> Producer:
        return producer_of(self.target.project_dir)

    def context(self) -> ProjectContext:
        """What the command line needs to know of this run."""
        return ProjectContext(
            project_dir=self.target.project_dir,
            target_dir=self.target.target_dir,
            env=self.env,
            root=self.repository.backend.root,
            invocation_id=self.invocation.invocation_id,
            target=self.target.name,
            profiles_dir=str(self.target.profiles_dir) if self.target.profiles_dir else None,
        )

    def _dataset(self, node: Node) -> Dataset:
        return Dataset(self.env, node.unique_id)

    def _prepare_store(self) -> None:
        with self._lock:
            if not self.repository.exists:
                self.repository.prepare()

    def _capture_sources(self, node: Node) -> None:
        """Sources have no build: each is looked at once a run, before the first that reads it."""
        for unique_id in upstream(self.graph, node.unique_id).data:
            source = self.graph.node(unique_id)
            if source is None or source.resource_type != "source":
                continue
            with self._lock:
                if unique_id in self._sources_seen:
                    continue
                self._sources_seen.add(unique_id)
                config = self.config_of(source)
                if config.enabled and config.sources != "off":
                    self._capture_source(source, config)

    def _capture_source(self, source: Node, config: Config) -> None:
        """A source that can't be read leaves its readers unpinned, with the reason; no more."""
        dataset = self._dataset(source)
        started = BuildStarted(
            build_id=new_id(),
            started_at=format_time(now()),
            command="source",
            relation=source.relation or None,
            invocation_id=self.invocation.invocation_id,
        )
        self.repository.events(dataset).write(started)
        self.finish(Building(source, dataset, config, started, {}), SUCCESS)


def project_env(target: DbtTarget) -> str:
    """The env of a project's current target."""
    layers = [("environment", environment_layer(os.environ)), (_VARS, target.settings)]
    return resolve_config(layers).env or target.default_env


def fails_on_error(target: DbtTarget) -> bool:
    """`on_error` as it was written, for when the settings as a whole can't be used."""
    wanted = environment_layer(os.environ).get("on_error") or target.settings.get("on_error")
    return bool(wanted == "fail")


def project_root(target: DbtTarget, given: str | None = None) -> Path:
    """The store of a project: given > environment > vars > default, counted from the project."""
    root = target.settings.get("root")
    return find_root(given, os.environ, str(root) if root else None, target.project_dir)


def _versions() -> dict[str, str]:
    found = {}
    for name, package in _PACKAGES.items():
        try:
            found[name] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
