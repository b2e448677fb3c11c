"""What the dbt docs page of a model is to show, out of the store."""

from __future__ import annotations

from dataclasses import dataclass

from dbt_snapshot_plugin.ops.status_of import effective_status
from dbt_snapshot_plugin.store.repository import Repository


@dataclass(frozen=True)
class DocsFacts:
    """One dataset's HEAD in a few words; no value of the data."""

    state: str
    summary: str
    num_rows: int | None
    version: str
    seq: int
    created_at: str


def docs_facts(repository: Repository, env: str) -> dict[str, DocsFacts]:
    """unique_id -> facts, for every dataset of the env that has a snapshot."""
    facts: dict[str, DocsFacts] = {}
    for dataset in repository.datasets():
        head = repository.history(dataset).head() if dataset.env == env else None
        if head is None:
            continue
        status = effective_status(repository, head)
        facts[dataset.unique_id] = DocsFacts(
            state=status.state,
            summary=status.summary,
            num_rows=head.num_rows,
            version=head.metadata_sha[:12],
            seq=head.seq,
            created_at=head.created_at,
        )
    return facts
