"""What the dbt docs page of a model is to show, out of the store."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt_snapshot_plugin.bridges.dbt_artifacts import load_json
from dbt_snapshot_plugin.model.errors import StoreError
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.settings import Settings
from dbt_snapshot_plugin.ops.status_of import effective_status
from dbt_snapshot_plugin.store.repository import Repository, open_repository


@dataclass(frozen=True)
class DocsFacts:
    """One dataset's HEAD in a few words; no value of the data."""

    state: str
    summary: str
    num_rows: int | None
    version: str
    seq: int
    created_at: str


Decorate = Callable[[dict[str, Any], dict[str, DocsFacts]], dict[str, Any]]
"""Puts the facts into the document of one of dbt's files."""


def docs_facts(repository: Repository, env: str) -> tuple[dict[str, DocsFacts], list[str]]:
    """unique_id -> facts, for every dataset of the env that has a snapshot, and what is damaged.

    Damage of one dataset leaves its page as dbt made it; the others are shown.
    """
    facts: dict[str, DocsFacts] = {}
    problems: list[str] = []
    for dataset in repository.datasets():
        if dataset.env != env:
            continue
        try:
            found = _facts_of(repository, dataset)
        except StoreError as error:
            problems.append(str(error))
            continue
        if found is not None:
            facts[dataset.unique_id] = found
    return facts, problems


def _facts_of(repository: Repository, dataset: Dataset) -> DocsFacts | None:
    head = repository.history(dataset).head()
    if head is None:
        return None
    status = effective_status(repository, head)
    return DocsFacts(
        state=status.state,
        summary=status.summary,
        num_rows=head.num_rows,
        version=head.metadata_sha[:12],
        seq=head.seq,
        created_at=head.created_at,
    )


class DocsPages:
    """The pages of one `dbt docs generate`."""

    def __init__(self, settings: Settings) -> None:
        """Reads the store; `problems` are those datasets that can't be shown."""
        self._facts: dict[str, DocsFacts] = {}
        self.problems: list[str] = []
        if settings.project.enabled:
            repository = open_repository(settings.root())
            self._facts, self.problems = docs_facts(repository, settings.env)
        if settings.error is not None:
            self.problems.append(str(settings.error))

    def decorate(self, path: Path, decorate: Decorate) -> None:
        """Puts the facts into a manifest.json or catalog.json, all or nothing."""
        if not self._facts:
            return
        document = decorate(load_json(path), self._facts)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(json.dumps(document), encoding="utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
