"""`list`: the datasets of a store, or the snapshots of one dataset."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from dbt_snapshot_plugin.model.errors import UsageError
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.qa import State
from dbt_snapshot_plugin.model.reference import parse_reference, resolve_dataset
from dbt_snapshot_plugin.ops.status_of import Verdicts
from dbt_snapshot_plugin.store.repository import Repository

LAST = 50


@dataclass(frozen=True)
class Row:
    """One snapshot in one line; the keys are fixed."""

    env: str
    dataset: str
    seq: int
    snapshot_id: str
    metadata_sha: str
    data_sha: str
    num_rows: int | None
    qa_state: State
    change: str
    created_at: str
    name: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class DatasetListing:
    rows: list[Row]
    without_snapshot: list[str]
    """Datasets that were built but have no snapshot yet."""

    def to_dict(self) -> dict[str, Any]:
        return {"datasets": [row.to_dict() for row in self.rows]}


@dataclass(frozen=True)
class SnapshotListing:
    rows: list[Row]
    total: int

    def to_dict(self) -> dict[str, Any]:
        return {"snapshots": [row.to_dict() for row in self.rows]}


def list_datasets(repo: Repository) -> DatasetListing:
    """HEAD of every dataset, sorted by env and name."""
    repo.require()
    rows: list[Row] = []
    without: list[str] = []
    for dataset in repo.datasets():
        head = repo.history(dataset).head()
        if head is None:
            without.append(str(dataset))
        else:
            rows.append(_row(head, Verdicts(repo, dataset).of(head).state))
    return DatasetListing(rows, without)


def list_snapshots(repo: Repository, text: str, *, everything: bool = False) -> SnapshotListing:
    """One dataset's snapshots, newest first: the last 50 unless all are wanted."""
    repo.require()
    reference = parse_reference(text)
    if text != reference.address:
        raise UsageError(
            f"{text!r} names one snapshot; list shows the history of a dataset",
            next_step=f"write {reference.address!r}, or `dbt-snapshot show {text}`",
        )
    dataset = resolve_dataset(reference, repo.datasets())
    history, verdicts = repo.history(dataset), Verdicts(repo, dataset)
    rows: list[Row] = []
    newer: Manifest | None = None
    for manifest in islice(history.newest_first(), None if everything else LAST):
        rows.append(_row(manifest, verdicts.of(manifest, newer).state))
        newer = manifest
    return SnapshotListing(rows, total=rows[0].seq if rows else 0)


def _row(manifest: Manifest, state: State) -> Row:
    return Row(
        env=manifest.env,
        dataset=manifest.unique_id,
        seq=manifest.seq,
        snapshot_id=manifest.snapshot_id,
        metadata_sha=manifest.metadata_sha,
        data_sha=manifest.data_sha,
        num_rows=manifest.num_rows,
        qa_state=state,
        change=manifest.change,
        created_at=manifest.created_at,
    )
