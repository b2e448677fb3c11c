"""Capture after the fact: snapshots of what the last dbt run built, from what it left on disk."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt_snapshot_plugin.bridges.dbt_artifacts import (
    MANIFEST,
    RUN_RESULTS,
    NodeRun,
    RunResults,
    read_graph,
    read_run_results,
)
from dbt_snapshot_plugin.bridges.dbt_host import (
    DbtTarget,
    Invocation,
    load_target,
    partial_flag,
)
from dbt_snapshot_plugin.model.errors import UsageError
from dbt_snapshot_plugin.model.graph import Graph, Node
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.capture import Captured
from dbt_snapshot_plugin.ops.locate import find_project_dir, find_target_dir, read_context
from dbt_snapshot_plugin.ops.recorder import SUCCESS, Recorder
from dbt_snapshot_plugin.ops.selection import select as select_nodes

Progress = Callable[[str, Captured, float], None]


@dataclass(frozen=True)
class CaptureRun:
    """What a capture of several relations came to."""

    root: str
    env: str
    captures: list[Captured]
    notes: list[str]

    @property
    def failed(self) -> list[Captured]:
        return [captured for captured in self.captures if captured.outcome == "failed"]

    def to_dict(self) -> dict[str, Any]:
        return {"captures": [_row(captured) for captured in self.captures]}


def _row(captured: Captured) -> dict[str, Any]:
    return {
        "dataset": str(captured.dataset),
        "outcome": captured.outcome,
        "seq": captured.seq,
        "metadata_sha": captured.metadata_sha,
        "reason": captured.reason,
    }


def capture(
    project_dir: str | os.PathLike[str] | None = None,
    *,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    target: str | None = None,
    profiles_dir: str | None = None,
    root: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> CaptureRun:
    """Records a dataset snapshot of every relation that the last dbt run built.

    Gives the snapshots that the hook would have given, as long as nothing was built since.
    `select` names other relations, or fewer; a relation that can't be captured is a result.
    """
    directory = find_project_dir(os.fspath(project_dir) if project_dir is not None else None)
    results = _results(directory)
    dbt_target = _target(directory, results, target, profiles_dir)
    graph = read_graph(dbt_target.target_dir / MANIFEST)
    last_run = results.invocation_id if results and results.built else None
    store = str(Path(root).expanduser().absolute()) if root is not None else None
    recorder = Recorder(dbt_target, graph, Invocation(last_run, "capture"), root=store)
    runs = {run.unique_id: run for run in results.runs} if results and results.built else {}
    chosen = _chosen(recorder, runs, results, select, exclude)
    partial = partial_flag(results.args) if results else None
    recorder.check_host()
    captures = [
        _not_built(recorder, node)
        if runs and node.unique_id not in runs and recorder.has_history(node)
        else _capture_one(recorder, node, runs.get(node.unique_id), partial, progress)
        for node in chosen
    ]
    return CaptureRun(
        root=str(recorder.root),
        env=recorder.env,
        captures=captures,
        notes=recorder.settings.notes,
    )


def _results(directory: Path) -> RunResults | None:
    """What the last dbt command left; its absence is no error if nodes are selected."""
    path = find_target_dir(directory) / RUN_RESULTS
    return read_run_results(path) if path.exists() else None


def _target(
    directory: Path, results: RunResults | None, target: str | None, profiles_dir: str | None
) -> DbtTarget:
    """The target of the run that is captured, unless another one is named."""
    context = read_context(directory)
    args = results.args if results else {}
    cli_vars = args.get("vars")
    return load_target(
        directory,
        profiles_dir=profiles_dir or (context.profiles_dir if context else None),
        target=target or args.get("target") or (context.target if context else None),
        cli_vars=cli_vars if isinstance(cli_vars, dict) else None,
    )


def _chosen(
    recorder: Recorder,
    runs: dict[str, NodeRun],
    results: RunResults | None,
    select: Sequence[str],
    exclude: Sequence[str],
) -> list[Node]:
    """Parents before children, so that children find their parents captured."""
    graph = recorder.graph
    if select:
        wanted = select_nodes(graph, select)
    elif runs:
        wanted = {unique_id for unique_id, run in runs.items() if run.status == SUCCESS}
    else:
        raise _nothing_built(recorder, results)
    if exclude:
        wanted -= select_nodes(graph, exclude)
    nodes = [node for node in map(graph.node, wanted) if node is not None]
    allowed = [node for node in nodes if recorder.allows(node, recorder.config_of(node))]
    if select and not allowed:
        raise UsageError(
            "nothing that was selected can have a dataset snapshot",
            where=", ".join(sorted(wanted)[:5]) or None,
            next_step="select models, seeds or snapshots that dbt stores and that are not off",
        )
    return _in_order(graph, allowed)


def _nothing_built(recorder: Recorder, results: RunResults | None) -> UsageError:
    last = f"the last command here was `dbt {results.command}`" if results else "there was none"
    return UsageError(
        f"no dbt run is known here whose relations could be captured: {last}",
        where=str(recorder.target.target_dir / RUN_RESULTS),
        next_step="run `dbt run` first, or name relations: `dbt-snapshot capture -s NAME`",
    )


def _in_order(graph: Graph, nodes: list[Node]) -> list[Node]:
    """Topological, and by name where the graph leaves it open."""
    depths: dict[str, int] = {}

    def depth(unique_id: str) -> int:
        if unique_id not in depths:
            depths[unique_id] = 0  # a cycle can't come from dbt, but must not hang us
            node = graph.node(unique_id)
            above = node.depends_on if node else ()
            depths[unique_id] = 1 + max((depth(parent) for parent in above), default=0)
        return depths[unique_id]

    return sorted(nodes, key=lambda node: (depth(node.unique_id), node.unique_id))


def _not_built(recorder: Recorder, node: Node) -> Captured:
    """Its code in manifest.json may be newer than what made the relation: that would be a lie."""
    reason = "the last dbt run did not build it, so its code may have changed since: build it"
    return Captured(Dataset(recorder.env, node.unique_id), "skipped", reason=reason)


def _capture_one(
    recorder: Recorder,
    node: Node,
    run: NodeRun | None,
    partial: str | None,
    progress: Progress | None,
) -> Captured:
    """`run` is what the last dbt run says of the node, None if it was not in it."""
    began = time.monotonic()
    was_built = run is not None and run.status == SUCCESS
    unwanted = f"{partial} built only a part of it" if was_built and partial else None
    building = recorder.begin(
        node,
        recorder.config_of(node),
        wanted=unwanted is None,
        built_here=was_built,
        built_at=run.completed_at if run is not None and was_built else None,
    )
    captured = recorder.finish(building, SUCCESS, unwanted=unwanted)
    if progress is not None:
        progress(node.name, captured, time.monotonic() - began)
    return captured
