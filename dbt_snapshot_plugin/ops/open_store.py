"""The `Store` that Python users hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbt_snapshot_plugin.bridges.dbt_artifacts import read_graph
from dbt_snapshot_plugin.ops.gate import Gate, GateBasis, gate
from dbt_snapshot_plugin.ops.listing import Row, list_datasets, list_snapshots
from dbt_snapshot_plugin.ops.locate import locate_root
from dbt_snapshot_plugin.ops.show import show
from dbt_snapshot_plugin.ops.validate import Validation, validate
from dbt_snapshot_plugin.store.repository import Repository, open_repository


class Store:
    """A store that exists, open for reading."""

    def __init__(self, repository: Repository) -> None:
        repository.require()
        self.repository = repository

    @property
    def root(self) -> str:
        return self.repository.backend.root

    def list(self, dataset: str | None = None) -> list[Row]:
        """HEAD of every dataset, or the whole history of one, newest first."""
        if dataset is None:
            return list_datasets(self.repository).rows
        return list_snapshots(self.repository, dataset, everything=True).rows

    def show(self, ref: str) -> dict[str, Any]:
        """The joined object of one snapshot."""
        return show(self.repository, ref).document

    def validate(self, ref: str | None = None) -> Validation:
        """Whether everything that is stored is what was written."""
        return validate(self.repository, ref)

    def gate(
        self,
        select: Sequence[str] = (),
        *,
        exclude: Sequence[str] = (),
        env: str | None = None,
        manifest: str | os.PathLike[str] | None = None,
        allow_unchecked: bool = False,
        allow_unknown: bool = False,
        basis: GateBasis = "any",
    ) -> Gate:
        """Whether the datasets' QA lets a pipeline go on.

        `manifest` is dbt's manifest.json; without it every dataset of the env is judged.
        """
        return gate(
            self.repository,
            env=env,
            graph=read_graph(Path(manifest)) if manifest is not None else None,
            select=select,
            exclude=exclude,
            allow_unchecked=allow_unchecked,
            allow_unknown=allow_unknown,
            basis=basis,
        )


def open_store(root: str | os.PathLike[str] | None = None) -> Store:
    """Opens a store for reading; without a root it is found as the CLI finds it."""
    return Store(open_repository(locate_root(os.fspath(root) if root is not None else None)))
