"""What the dbt docs page of a model is to show, out of the store."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from dbt_snapshot_plugin.bridges.dbt_artifacts import CATALOG, load_json
from dbt_snapshot_plugin.ops.status_of import effective_status
from dbt_snapshot_plugin.report.docs import decorate_catalog, decorate_manifest
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


def decorate_artifact(path: Path, repository: Repository, env: str) -> int:
    """Puts the facts into a manifest.json or catalog.json; says how many datasets it has."""
    facts = docs_facts(repository, env)
    if not facts:
        return 0
    decorate = decorate_catalog if path.name == CATALOG else decorate_manifest
    document = decorate(load_json(path), facts)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(json.dumps(document), encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return len(facts)
