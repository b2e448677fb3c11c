"""Parents of a snapshot, pinned to the versions that were read."""

from __future__ import annotations

from collections.abc import Mapping

from dbt_snapshot_plugin.model.graph import Graph, upstream
from dbt_snapshot_plugin.model.manifest import Manifest, Parent
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.store.repository import Repository

Heads = Mapping[str, "str | None"]
"""unique_id -> snapshot_id of HEAD, None for an empty history."""


def read_heads(
    repository: Repository, graph: Graph, env: str, unique_id: str
) -> dict[str, str | None]:
    """The heads of all parents now; taken when a build starts, to see later if one moved."""
    parents = upstream(graph, unique_id)
    heads: dict[str, str | None] = {}
    for parent_id in (*parents.data, *parents.through):
        head = repository.history(Dataset(env, parent_id)).head()
        heads[parent_id] = head.snapshot_id if head else None
    return heads


def pin_parents(
    repository: Repository, graph: Graph, env: str, unique_id: str, at_start: Heads | None
) -> list[Parent]:
    """One entry per upstream dataset; what is not pinned says why."""
    parents = upstream(graph, unique_id)
    rows = [_pin(repository, Dataset(env, p), at_start, through=False) for p in parents.data]
    rows += [_pin(repository, Dataset(env, p), at_start, through=True) for p in parents.through]
    return sorted(rows, key=lambda row: row.unique_id)


def _pin(
    repository: Repository, dataset: Dataset, at_start: Heads | None, *, through: bool
) -> Parent:
    head = repository.history(dataset).head()
    if head is None:
        return _unpinned(dataset, "it has no snapshot in this env", through)
    build = repository.events(dataset).last_build()
    ended = build.ended if build else None
    if ended is None or not ended.captured or ended.snapshot_id != head.snapshot_id:
        return _unpinned(dataset, "its last build did not end in a snapshot", through)
    if at_start is not None and at_start.get(dataset.unique_id) != head.snapshot_id:
        return Parent(
            unique_id=dataset.unique_id,
            basis="raced",
            reason="it was rebuilt while this dataset was being built",
            looked_through=through,
        )
    return _pinned(head, through)


def _pinned(head: Manifest, through: bool) -> Parent:
    return Parent(
        unique_id=head.unique_id,
        basis="captured" if head.depth == "full" else "schema",
        seq=head.seq,
        snapshot_id=head.snapshot_id,
        metadata_sha=head.metadata_sha,
        data_sha=head.data_sha,
        looked_through=through,
    )


def _unpinned(dataset: Dataset, reason: str, through: bool) -> Parent:
    return Parent(
        unique_id=dataset.unique_id, basis="unpinned", reason=reason, looked_through=through
    )
