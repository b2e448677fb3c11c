"""What dbt leaves under `target/`, read into small types; dbt itself is not imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dbt_snapshot_plugin.model.errors import HostError

MANIFEST = "manifest.json"
RUN_RESULTS = "run_results.json"
CONTEXT = "dbt_snapshot/context.json"

# What can hold data of its own; an ephemeral model never does.
_BUILT = frozenset({"model", "seed", "snapshot"})


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """`target/dbt_snapshot/context.json`: what the last dbt command with the plugin used."""

    env: str | None = None
    root: str | None = None
    invocation_id: str | None = None
    target: str | None = None
    project_dir: str | None = None
    profiles_dir: str | None = None


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One node of the dbt graph, as much of it as is needed after the run."""

    unique_id: str
    resource_type: str
    name: str
    materialized: str | None = None
    enabled: bool = True
    tags: tuple[str, ...] = ()
    relation_name: str | None = None
    alias: str | None = None
    schema: str | None = None
    path: str | None = None
    depends_on: tuple[str, ...] = ()
    settings: dict[str, Any] = {}
    """`config.meta.dbt_snapshot`: the model's own settings of this plugin."""

    @property
    def buildable(self) -> bool:
        """Whether dbt builds a relation for it."""
        return (
            self.enabled
            and self.resource_type in _BUILT
            and self.materialized not in {"ephemeral", "inline"}
        )


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes and sources of one manifest.json."""

    nodes: dict[str, Node]
    project_name: str | None = None
    invocation_id: str | None = None
    generated_at: str | None = None
    dbt_version: str | None = None


class NodeRun(msgspec.Struct, frozen=True, kw_only=True):
    """One row of run_results.json."""

    unique_id: str
    status: str
    started_at: str | None = None
    completed_at: str | None = None
    message: str | None = None


class RunResults(msgspec.Struct, frozen=True, kw_only=True):
    runs: list[NodeRun]
    invocation_id: str | None = None
    generated_at: str | None = None
    command: str | None = None
    args: dict[str, Any] = {}


class _Metadata(msgspec.Struct):
    invocation_id: str | None = None
    generated_at: str | None = None
    project_name: str | None = None
    dbt_version: str | None = None


class _RawConfig(msgspec.Struct):
    materialized: str | None = None
    enabled: bool = True
    meta: dict[str, Any] | None = None


class _RawDepends(msgspec.Struct):
    nodes: list[str] | None = None


class _RawNode(msgspec.Struct):
    unique_id: str
    resource_type: str
    name: str
    config: _RawConfig = msgspec.field(default_factory=_RawConfig)
    depends_on: _RawDepends = msgspec.field(default_factory=_RawDepends)
    tags: list[str] | None = None
    relation_name: str | None = None
    alias: str | None = None
    identifier: str | None = None
    schema: str | None = None
    original_file_path: str | None = None


class _RawManifest(msgspec.Struct):
    nodes: dict[str, _RawNode]
    sources: dict[str, _RawNode] = {}
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _RawTiming(msgspec.Struct):
    name: str
    started_at: str | None = None
    completed_at: str | None = None


class _RawRun(msgspec.Struct):
    unique_id: str
    status: str
    timing: list[_RawTiming] = []
    message: str | None = None


class _RawRunResults(msgspec.Struct):
    results: list[_RawRun]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    args: dict[str, Any] = {}


T = TypeVar("T")


def load_json(path: Path) -> dict[str, Any]:
    """A JSON object of a host's file; raises HostError that names the file."""
    return _load(path, dict[str, Any])


def read_manifest(path: Path) -> Graph:
    raw = _load(path, _RawManifest)
    nodes = {key: _node(node) for key, node in [*raw.nodes.items(), *raw.sources.items()]}
    return Graph(
        nodes=nodes,
        project_name=raw.metadata.project_name,
        invocation_id=raw.metadata.invocation_id,
        generated_at=raw.metadata.generated_at,
        dbt_version=raw.metadata.dbt_version,
    )


def read_run_results(path: Path) -> RunResults:
    raw = _load(path, _RawRunResults)
    which = raw.args.get("which")
    return RunResults(
        runs=[_run(row) for row in raw.results],
        invocation_id=raw.metadata.invocation_id,
        generated_at=raw.metadata.generated_at,
        command=which if isinstance(which, str) else None,
        args=raw.args,
    )


def read_context(target_dir: Path) -> Context | None:
    """The plugin's own note; None before the first run with the plugin."""
    path = target_dir / CONTEXT
    return _load(path, Context) if path.exists() else None


def _node(raw: _RawNode) -> Node:
    meta = raw.config.meta or {}
    settings = meta.get("dbt_snapshot")
    return Node(
        unique_id=raw.unique_id,
        resource_type=raw.resource_type,
        name=raw.name,
        materialized=raw.config.materialized,
        enabled=raw.config.enabled,
        tags=tuple(raw.tags or ()),
        relation_name=raw.relation_name,
        alias=raw.alias or raw.identifier,
        schema=raw.schema,
        path=raw.original_file_path,
        depends_on=tuple(raw.depends_on.nodes or ()),
        settings=settings if isinstance(settings, dict) else {},
    )


def _run(raw: _RawRun) -> NodeRun:
    execute = next((t for t in raw.timing if t.name == "execute"), None)
    return NodeRun(
        unique_id=raw.unique_id,
        status=raw.status,
        started_at=execute.started_at if execute else None,
        completed_at=execute.completed_at if execute else None,
        message=raw.message,
    )


def _load(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        raise HostError(
            f"{path.name} is missing",
            where=str(path),
            next_step="run dbt in this project first (`dbt parse` is enough for manifest.json)",
        ) from None
    except OSError as error:
        raise HostError(
            f"{path.name} can't be read: {error.strerror or error}", where=str(path)
        ) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise HostError(
            f"{path.name} is not what dbt writes: {error}",
            where=str(path),
            next_step="delete the file and run dbt again",
        ) from None
