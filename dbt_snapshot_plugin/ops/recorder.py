"""The captures of one dbt run: a build event before and after each, the capture in between.

The hook calls `begin` when dbt starts a node and `finish` when it is done with it; a capture after
the fact calls both at once. Thread-safe, since dbt builds on several threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import metadata

from dbt_snapshot_plugin.bridges.dbt_host import DbtTarget, Invocation
from dbt_snapshot_plugin.bridges.git import producer_of
from dbt_snapshot_plugin.bridges.spark import SparkHost, active_context, open_session
from dbt_snapshot_plugin.model.config import Config
from dbt_snapshot_plugin.model.errors import HostError, SnapshotError
from dbt_snapshot_plugin.model.events import BuildEnded, BuildStarted
from dbt_snapshot_plugin.model.graph import Graph, Node, asks_for_snapshot, upstream
from dbt_snapshot_plugin.model.ids import format_time, new_id, now
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.capture import Captured, capture_node
from dbt_snapshot_plugin.ops.draft import RunFacts, plain_meta
from dbt_snapshot_plugin.ops.locate import ProjectContext
from dbt_snapshot_plugin.ops.pins import Heads, read_heads
from dbt_snapshot_plugin.ops.settings import Settings
from dbt_snapshot_plugin.store.repository import Repository, open_repository

SUCCESS = "success"
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
    warnings: tuple[str, ...] = ()


class Recorder:
    def __init__(
        self,
        target: DbtTarget,
        graph: Graph,
        invocation: Invocation,
        *,
        root: str | None = None,
    ) -> None:
        """The store is opened on use; a wrong setting is told by `config_of`."""
        self.target = target
        self.graph = graph
        self.invocation = invocation
        self.settings = Settings(target, os.environ)
        self.env = self.settings.env
        self.root = self.settings.root(root)
        self._lock = threading.RLock()
        self._host: SparkHost | None = None
        self._is_prepared = False
        self._sources_seen: set[str] = set()

    @cached_property
    def repository(self) -> Repository:
        return open_repository(self.root)

    def config_of(self, node: Node) -> Config:
        return self.settings.of(node)

    def allows(self, node: Node, config: Config) -> bool:
        """Whether the settings let this node have snapshots at all."""
        on_target = not config.targets or self.target.name in config.targets
        is_off = node.materialization == "view" and config.views == "off"
        return node.buildable and config.enabled and on_target and not is_off

    def asks(self, node: Node, config: Config) -> bool:
        """Whether this node wants a snapshot, as far as the graph tells."""
        return config.trigger == "model" or asks_for_snapshot(self.graph, node)

    def has_history(self, node: Node) -> bool:
        """A build of such a relation must be noted even if nobody asks for a snapshot of it."""
        return self.repository.history(self._dataset(node)).head_seq() > 0

    def begin(
        self,
        node: Node,
        config: Config,
        *,
        wanted: bool = True,
        built_here: bool = True,
        built_at: str | None = None,
    ) -> Building:
        """From here on what is known of the relation may be wrong: say so before it is touched.

        `wanted`: whether a capture is to follow, so that what it rests on is looked at now.
        `built_here`: whether this invocation builds or has built it, at `built_at` if it is over.
        """
        self._prepare_store()
        building = self._start(node, config, built_here=built_here, built_at=built_at)
        is_whole = self.invocation.partial is None
        return self.look_around(building) if wanted and is_whole else building

    def look_around(self, building: Building) -> Building:
        """What a capture rests on: the sources are captured, the parents' heads are noted."""
        warnings = tuple(self._capture_sources(building.node))
        heads = read_heads(self.repository, self.graph, self.env, building.node.unique_id)
        return replace(building, heads=heads, warnings=warnings)

    def _start(
        self, node: Node, config: Config, *, built_here: bool, built_at: str | None = None
    ) -> Building:
        started = BuildStarted(
            build_id=new_id(),
            started_at=format_time(now()),
            command="source" if node.resource_type == "source" else self.invocation.command,
            relation=node.relation or None,
            invocation_id=self.invocation.invocation_id if built_here else None,
            built_at=built_at,
        )
        dataset = self._dataset(node)
        self.repository.events(dataset).write(started)
        return Building(node, dataset, config, started, {})

    def finish(self, building: Building, status: str, *, unwanted: str | None = None) -> Captured:
        """Captures unless there is a reason not to; never raises, whatever happens.

        `unwanted` is that reason where the caller knows one.
        """
        captured = self._outcome(building, status, unwanted)
        captured = replace(captured, warnings=(*building.warnings, *captured.warnings))
        try:
            self._write_end(building, status, captured)
        except Exception as error:  # noqa: BLE001 - see above
            return Captured(building.dataset, "failed", reason=explain(error))
        return captured

    def _outcome(self, building: Building, status: str, unwanted: str | None) -> Captured:
        reason = unwanted
        if status != SUCCESS:
            reason = f"dbt's status is {status}"
        elif self.invocation.partial:
            reason = f"{self.invocation.partial} builds only a part of it"
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
                replace(self.run_facts(), invocation_id=building.started.invocation_id),
                building.heads,
            )
        except Exception as error:  # noqa: BLE001 - a build event must end, whatever happened
            return Captured(building.dataset, "failed", reason=explain(error))

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
            invocation_id=building.started.invocation_id,
            source_files=captured.source_files,
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
                        next_step="name the targets that are captured in "
                        "vars.dbt_snapshot.targets, without this one",
                    )
                self._host = SparkHost(open_session(self.target.parameters))
            return self._host

    def check_host(self) -> None:
        """Raises where nothing could be captured: one error instead of one for each relation."""
        is_ours = active_context() is None
        log_level = self.target.parameters.get("spark.log.level", "WARN") if is_ours else None
        self.host().check_catalog(log_level)

    def run_facts(self) -> RunFacts:
        with self._lock:
            return self._run_facts

    @cached_property
    def _run_facts(self) -> RunFacts:
        return RunFacts(
            env=self.env,
            project_dir=self.target.project_dir,
            producer=producer_of(self.target.project_dir),
            versions=_versions(),
            lookup_var=self.target.lookup_var,
            environ=os.environ,
            invocation_id=None,
        )

    def context(self) -> ProjectContext:
        """What the command line needs to know of this run."""
        return ProjectContext(
            project_dir=self.target.project_dir,
            target_dir=self.target.target_dir,
            env=self.env,
            root=str(self.root),
            invocation_id=self.invocation.invocation_id,
            target=self.target.name,
            profiles_dir=str(self.target.profiles_dir) if self.target.profiles_dir else None,
        )

    def _dataset(self, node: Node) -> Dataset:
        return Dataset(self.env, node.unique_id)

    def _prepare_store(self) -> None:
        with self._lock:
            if not self._is_prepared:
                self.repository.prepare()
                self._is_prepared = True

    def _capture_sources(self, node: Node) -> Iterator[str]:
        """Sources have no build: each is looked at once a run, before the first that reads it.

        One that can't be read leaves its readers unpinned, and says so; no more.
        """
        for unique_id in upstream(self.graph, node.unique_id).data:
            source = self.graph.node(unique_id)
            if source is None or source.resource_type != "source":
                continue
            with self._lock:  # held while it is captured: another reader has to wait for it
                if unique_id in self._sources_seen:
                    continue
                self._sources_seen.add(unique_id)
                yield from self._capture_source(source)

    def _capture_source(self, source: Node) -> Iterator[str]:
        try:
            config = self.config_of(source)
            if not config.enabled or config.sources == "off":
                return
            captured = self.finish(self._start(source, config, built_here=False), SUCCESS)
            reason = captured.reason if captured.outcome == "failed" else None
        except SnapshotError as error:
            reason = str(error)
        if reason is not None:
            yield f"source {source.name} is not pinned: {reason}"


def explain(error: Exception) -> str:
    """What a user is told: our own errors say it all, of any other a line must do."""
    if isinstance(error, SnapshotError):
        return str(error)
    text = str(error).strip().splitlines()
    return f"internal error: {type(error).__name__}: {text[0] if text else 'no text'}"


def _versions() -> dict[str, str]:
    found = {}
    for name, package in _PACKAGES.items():
        try:
            found[name] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
