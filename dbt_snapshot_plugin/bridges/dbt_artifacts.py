"""What dbt leaves under `target/`, read without importing dbt."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dbt_snapshot_plugin.bridges.dbt_graph import graph_from_json
from dbt_snapshot_plugin.model.errors import HostError
from dbt_snapshot_plugin.model.graph import Graph
from dbt_snapshot_plugin.model.ids import format_time, parse_time

MANIFEST = "manifest.json"
RUN_RESULTS = "run_results.json"
_BUILDING = frozenset({"run", "build", "seed", "snapshot", "retry"})


class NodeRun(msgspec.Struct, frozen=True, kw_only=True):
    """One row of run_results.json."""

    unique_id: str
    status: str
    completed_at: str | None = None


class RunResults(msgspec.Struct, frozen=True, kw_only=True):
    """What the last dbt command that runs nodes left."""

    runs: list[NodeRun]
    invocation_id: str | None = None
    command: str | None = None
    args: dict[str, Any] = {}

    @property
    def built(self) -> bool:
        """Whether the command builds relations: a test or a compile says nothing of them."""
        return self.command in _BUILDING


class _Metadata(msgspec.Struct):
    invocation_id: str | None = None


class _RawTiming(msgspec.Struct):
    name: str
    completed_at: str | None = None


class _RawRun(msgspec.Struct):
    unique_id: str
    status: str
    timing: list[_RawTiming] = []


class _RawRunResults(msgspec.Struct):
    results: list[_RawRun]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    args: dict[str, Any] = {}


T = TypeVar("T")


def load_json(path: Path) -> dict[str, Any]:
    """A JSON object of a host's file; raises HostError that names the file."""
    return _load(path, dict[str, Any])


def read_graph(path: Path) -> Graph:
    """The graph of a manifest.json."""
    document = load_json(path)
    for table in ("nodes", "sources", "macros"):
        if not isinstance(document.get(table), dict):
            raise HostError(
                f"manifest.json is not what dbt writes: it has no `{table}`",
                where=str(path),
                next_step="delete the file and run dbt again",
            )
    return graph_from_json(document)


def read_run_results(path: Path) -> RunResults:
    raw = _load(path, _RawRunResults)
    which = raw.args.get("which")
    try:
        runs = [_run(row) for row in raw.results]
    except ValueError as error:
        raise _strange(path, error) from None
    return RunResults(
        runs=runs,
        invocation_id=raw.metadata.invocation_id,
        command=which if isinstance(which, str) else None,
        args=raw.args,
    )


def _run(raw: _RawRun) -> NodeRun:
    """`completed_at` in the form of our own times; a time that is none raises ValueError."""
    done = next((t.completed_at for t in raw.timing if t.name == "execute"), None)
    return NodeRun(
        unique_id=raw.unique_id,
        status=raw.status,
        completed_at=format_time(parse_time(done)) if done else None,
    )


def _load(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        raise HostError(
            f"{path.name} is missing",
            where=str(path),
            next_step="run dbt in this project first, or name the project with --project-dir",
        ) from None
    except OSError as error:
        raise HostError(
            f"{path.name} can't be read: {error.strerror or error}", where=str(path)
        ) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _strange(path, error) from None


def _strange(path: Path, error: Exception) -> HostError:
    return HostError(
        f"{path.name} is not what dbt writes: {error}",
        where=str(path),
        next_step="delete the file and run dbt again",
    )
