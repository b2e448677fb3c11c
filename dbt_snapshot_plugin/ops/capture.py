"""Capture: one relation as it is now becomes a snapshot, or is found to be HEAD already."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from dbt_snapshot_plugin.bridges.spark import SparkHost
from dbt_snapshot_plugin.model.config import Config
from dbt_snapshot_plugin.model.errors import CaptureError
from dbt_snapshot_plugin.model.events import Outcome
from dbt_snapshot_plugin.model.graph import Graph, Node
from dbt_snapshot_plugin.model.ids import new_id
from dbt_snapshot_plugin.model.manifest import Manifest, SourceFiles
from dbt_snapshot_plugin.model.qa import State, fold
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.draft import Draft, RunFacts
from dbt_snapshot_plugin.ops.observe import Observation, observe
from dbt_snapshot_plugin.ops.pins import Heads, pin_parents
from dbt_snapshot_plugin.ops.status_of import about_build
from dbt_snapshot_plugin.store.repository import Repository


@dataclass(frozen=True)
class Captured:
    """What a capture came to."""

    dataset: Dataset
    outcome: Outcome
    seq: int | None = None
    snapshot_id: str | None = None
    metadata_sha: str | None = None
    data_sha: str | None = None
    num_rows: int | None = None
    num_columns: int | None = None
    qa_state: State | None = None
    source_files: SourceFiles | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()


def capture_node(
    host: SparkHost,
    repository: Repository,
    graph: Graph,
    node: Node,
    config: Config,
    run: RunFacts,
    heads_at_start: Heads,
) -> Captured:
    """Profile, lineage, identity, QA, commit: in this order, one way."""
    dataset = Dataset(run.env, node.unique_id)
    _refuse_other_relation(repository, dataset, node)
    seen = observe(host, node, config)
    empty = _judge_empty(seen, node, config)
    if empty == "skip":
        return Captured(dataset, "skipped", reason="it has 0 rows and on_empty is skip")
    parents = pin_parents(repository, graph, run.env, node, heads_at_start)
    draft = Draft(graph=graph, node=node, config=config, run=run, seen=seen, parents=parents)
    warnings = (*seen.warnings, *([empty] if empty else []))
    return _commit(repository, dataset, draft, warnings)


def _refuse_other_relation(repository: Repository, dataset: Dataset, node: Node) -> None:
    head = repository.history(dataset).head()
    if head is not None and head.relation.casefold() != node.relation.casefold():
        raise CaptureError(
            f"{dataset} is the history of {head.relation}, but this build wrote {node.relation}",
            next_step="give this copy of the project an `env` of its own "
            "(vars.dbt_snapshot.env or DBT_SNAPSHOT_ENV)",
        )


def _judge_empty(seen: Observation, node: Node, config: Config) -> str | None:
    if seen.num_rows != 0 or config.on_empty == "allow":
        return None
    if config.on_empty == "error":
        raise CaptureError(
            f"{node.relation} has 0 rows and on_empty is error", next_step="check what it reads"
        )
    return "skip" if config.on_empty == "skip" else f"{node.relation} has 0 rows"


def _commit(
    repository: Repository, dataset: Dataset, draft: Draft, warnings: tuple[str, ...]
) -> Captured:
    """Objects first, the manifest last; nothing at all if HEAD is this version already."""
    seen = draft.seen
    snapshot_id = new_id()
    told = about_build(repository.events(dataset).evidence(), seen.hash_algo, None)
    qa = fold(told, seen.data_sha)
    head_is_equal: list[Manifest] = []

    def make(head: Manifest | None) -> Manifest | None:
        head_is_equal.clear()
        manifest = draft.manifest(head, snapshot_id)
        if head is not None and head.metadata_sha == manifest.metadata_sha:
            head_is_equal.append(head)
            return None
        profile = repository.objects.put(draft.profile_bytes()) if seen.rows_read else None
        return msgspec.structs.replace(manifest, profile=profile, qa_status_at_commit=qa)

    committed = repository.history(dataset).append(make)
    manifest = committed or head_is_equal[0]
    outcome: Outcome = "unchanged"
    if committed is not None:
        outcome = "metadata" if committed.change == "metadata" else "new"
    return Captured(
        dataset=dataset,
        outcome=outcome,
        seq=manifest.seq,
        snapshot_id=manifest.snapshot_id,
        metadata_sha=manifest.metadata_sha,
        data_sha=manifest.data_sha,
        num_rows=manifest.num_rows,
        num_columns=manifest.num_columns,
        qa_state=qa.state,
        source_files=seen.source_files,
        warnings=warnings,
    )
