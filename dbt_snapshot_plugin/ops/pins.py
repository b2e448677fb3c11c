"""Parents of a snapshot, pinned to the versions that were read."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbt_snapshot_plugin.model.errors import StoreError
from dbt_snapshot_plugin.model.events import BuildEnded
from dbt_snapshot_plugin.model.graph import NEVER_STORED, Graph, Node, upstream
from dbt_snapshot_plugin.model.manifest import Manifest, Parent
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.store.repository import Repository

Heads = Mapping[str, "str | None"]
"""unique_id -> snapshot_id of HEAD, None where there is none that can be read."""


def read_heads(
    repository: Repository, graph: Graph, env: str, unique_id: str
) -> dict[str, str | None]:
    """The heads of all parents now; taken when a build starts, to see later if one moved."""
    parents = upstream(graph, unique_id)
    heads: dict[str, str | None] = {}
    for parent_id in (*parents.data, *parents.through):
        try:
            head = repository.history(Dataset(env, parent_id)).head()
        except StoreError:
            head = None
        heads[parent_id] = head.snapshot_id if head else None
    return heads


def pin_parents(
    repository: Repository, graph: Graph, env: str, child: Node, at_start: Heads
) -> list[Parent]:
    """One entry per upstream dataset; what is not pinned says why."""
    parents = upstream(graph, child.unique_id)
    found = []
    for parent_id in (*parents.data, *parents.through):
        dataset, through = Dataset(env, parent_id), parent_id in parents.through
        reason = _why_not(graph.node(parent_id), child)
        if reason is not None:
            found.append(_unpinned(dataset, reason, through))
            continue
        try:
            found.append(_pin(repository, dataset, at_start, through=through))
        except StoreError as error:  # a parent's damage must not cost the child its snapshot
            found.append(_unpinned(dataset, f"its history can't be read: {error.what}", through))
    return sorted(found, key=lambda row: row.unique_id)


def _why_not(parent: Node | None, child: Node) -> str | None:
    """Why the parent's history in this env is not what was read, as far as the graph tells."""
    if parent is None:
        return None
    if parent.materialization in NEVER_STORED:
        return "nothing of it is stored"
    other = parent.deferred_to
    code = child.compiled_code or ""
    if other and re.search(rf"(?<![\w.]){re.escape(other)}(?![\w.])", re.sub(r"[`\"]", "", code)):
        return f"{other} was read instead of it (--defer)"
    return None


def _pin(repository: Repository, dataset: Dataset, at_start: Heads, *, through: bool) -> Parent:
    head = repository.history(dataset).head()
    build = repository.events(dataset).last_build()
    ended = build.ended if build else None
    if head is None:
        return _unpinned(dataset, f"it has no snapshot in this env{_because(ended)}", through)
    if ended is None or not ended.captured or ended.snapshot_id != head.snapshot_id:
        reason = f"its last build did not end in a snapshot{_because(ended)}"
        return _unpinned(dataset, reason, through)
    if at_start.get(dataset.unique_id) != head.snapshot_id:
        return Parent(
            unique_id=dataset.unique_id,
            basis="raced",
            reason="it was rebuilt while this dataset was being built",
            looked_through=through,
        )
    return _pinned(head, through)


def _because(ended: BuildEnded | None) -> str:
    """The first line of the reason: a pin is one line of a table."""
    reason = ended.reason if ended is not None and not ended.captured else None
    return f": {reason.splitlines()[0]}" if reason else ""


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
