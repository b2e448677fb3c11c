"""A store as a whole: its format, its datasets and the parts of each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from dbt_snapshot_plugin.model.codec import SignedRecord, decode, seal
from dbt_snapshot_plugin.model.errors import StoreError
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.reference import Dataset, parse_reference, resolve_dataset
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.backend import Backend
from dbt_snapshot_plugin.store.events import Events
from dbt_snapshot_plugin.store.history import History
from dbt_snapshot_plugin.store.local import LocalBackend
from dbt_snapshot_plugin.store.objects import Objects

ROOT_VARIABLE = "DBT_SNAPSHOT_ROOT"
DEFAULT_ROOT = ".dbt_snapshot"
PRODUCT = "dbt-snapshot"


class StoreFormat(SignedRecord, frozen=True, kw_only=True):
    """The content of `store.json`: which format the store has."""

    product: str


class Repository:
    """Reading needs nothing but the directory and begins with `require`; `prepare` is called
    before the first write. Both refuse a store of a format that this version can't know."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.objects = Objects(backend)

    @cached_property
    def exists(self) -> bool:
        """Whether there is a store; a damaged or unknown `store.json` raises."""
        stored = self.backend.get(layout.STORE)
        if stored is not None:
            decode(stored, StoreFormat, f"{self.backend.root}/{layout.STORE}")
        return stored is not None

    def prepare(self) -> None:
        """Makes the store if there is none, and sweeps what killed writers left."""
        if not self.exists:
            where = f"{self.backend.root}/{layout.STORE}"
            _, data = seal(StoreFormat(product=PRODUCT), where)
            self.backend.put_new(layout.STORE, data)
            self.exists = True
        if isinstance(self.backend, LocalBackend):
            self.backend.sweep_staging()

    def require(self) -> None:
        """For commands that make no sense without a store."""
        if not self.exists:
            raise StoreError(
                "there is no snapshot store here",
                where=self.backend.root,
                next_step="build a model with the hook on (`dbt run`), run `dbt-snapshot capture` "
                f"or point {ROOT_VARIABLE} at a store",
            )

    def datasets(self) -> list[Dataset]:
        """All datasets that have a history or an event, sorted."""
        found = [dataset for _, dataset in self._walk() if dataset is not None]
        return sorted(found, key=lambda d: (d.env, d.unique_id))

    def foreign(self) -> list[str]:
        """What lies among the datasets and is none, such as a file manager's leftovers."""
        return [key for key, dataset in self._walk() if dataset is None]

    def _walk(self) -> Iterator[tuple[str, Dataset | None]]:
        for name in self.backend.names(layout.DATASETS):
            env = layout.decode_name(name)
            if env is None:
                yield f"{layout.DATASETS}/{name}", None
                continue
            for inner in self.backend.names(f"{layout.DATASETS}/{name}"):
                unique_id = layout.decode_name(inner)
                dataset = Dataset(env, unique_id) if unique_id is not None else None
                yield f"{layout.DATASETS}/{name}/{inner}", dataset

    def history(self, dataset: Dataset) -> History:
        return History(self.backend, dataset)

    def events(self, dataset: Dataset) -> Events:
        return Events(self.backend, dataset)

    def resolve(self, text: str) -> Manifest:
        """The snapshot that a reference names."""
        self.require()
        reference = parse_reference(text)
        dataset = resolve_dataset(reference, self.datasets())
        return self.history(dataset).select(reference.selector)


def find_root(
    given: str | None, environ: Mapping[str, str], context_root: str | None, base: Path
) -> Path:
    """CLI option > environment > what the last dbt run used > `.dbt_snapshot` of the project."""
    chosen = given or environ.get(ROOT_VARIABLE) or context_root or DEFAULT_ROOT
    if "://" in chosen:
        raise StoreError(
            "remote stores belong to a later release; this one keeps the store on a local disk",
            where=chosen,
            next_step=f"set {ROOT_VARIABLE} to a directory",
        )
    return base / os.path.expanduser(chosen)  # noqa: PTH111 - a user without a home is no error


def open_repository(root: Path) -> Repository:
    """The store in a directory, which need not exist yet; `require` says so if it must."""
    try:
        os.listdir(root)  # noqa: PTH208 - only to see whether it can be
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(
            f"the store can't be read: {reason}",
            where=str(root),
            next_step=f"check the path and its permissions, or set {ROOT_VARIABLE}",
        ) from None
    return Repository(LocalBackend(root))
