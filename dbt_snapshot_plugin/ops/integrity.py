"""The single checks of `validate`: each gives the problems it found, in words."""

from __future__ import annotations

from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex
from dbt_snapshot_plugin.model.errors import CorruptRecordError, UnknownReferenceError
from dbt_snapshot_plugin.model.identity import metadata_sha
from dbt_snapshot_plugin.model.manifest import Manifest, Parent
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.show import read_profile
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.events import Events
from dbt_snapshot_plugin.store.repository import Repository
from spark_profiler.model import Profile


def chain_problems(manifest: Manifest, previous: Manifest | None) -> list[str]:
    """The record before this one must be the one that it was written after."""
    found = (manifest.parent_record_sha256, manifest.parent_snapshot_id)
    wanted = (previous.record_sha256, previous.snapshot_id) if previous else (None, None)
    if found == wanted:
        return []
    return [f"{_key(manifest)}: it does not follow the record before it, which was replaced"]


def identity_problems(manifest: Manifest) -> list[str]:
    """What follows from other fields must follow from them."""
    schema = [(column.name, column.spark_type) for column in manifest.columns]
    wanted = {
        "metadata_sha": metadata_sha(manifest),
        "schema_hash": sha256_hex(canonical_json([list(pair) for pair in schema])),
        "num_columns": len(schema),
    }
    return [
        f"{_key(manifest)}: {name} is not what its fields give"
        for name, value in wanted.items()
        if getattr(manifest, name) != value
    ]


class Profiles:
    """Profiles are shared by snapshots: each object is read once."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._seen: dict[str, Profile | str] = {}

    @property
    def read(self) -> int:
        return len(self._seen)

    def problems(self, manifest: Manifest) -> list[str]:
        """The object must be there, whole, readable, and about the same data."""
        if manifest.profile is None:
            return []
        profile = self._read(manifest, manifest.profile.sha256)
        if isinstance(profile, str):
            return [profile]
        wrong = [
            name
            for name in ("num_rows", "schema_hash", "num_columns")
            if getattr(profile, name) != getattr(manifest, name)
        ]
        if profile.data_sha is not None and manifest.depth == "full":
            wrong += ["data_sha"] if profile.data_sha != manifest.data_sha else []
        return [f"{_key(manifest)}: its profile has another {name}" for name in wrong]

    def _read(self, manifest: Manifest, sha256: str) -> Profile | str:
        if sha256 not in self._seen:
            try:
                profile = read_profile(self._repo, manifest)
                assert profile is not None
                self._seen[sha256] = profile
            except CorruptRecordError as error:
                self._seen[sha256] = f"{error.where}: {error.what}"
        return self._seen[sha256]


def event_problems(events: Events, key: str) -> list[str]:
    """An event must decode and lie under the dataset that it names."""
    try:
        event = events.read(key)
    except CorruptRecordError as error:
        return [f"{error.where}: {error.what}"]
    if (event.env, event.unique_id) != (events.dataset.env, events.dataset.unique_id):
        return [f"{key}: this event belongs to {event.env}/{event.unique_id}"]
    return []


def parent_problems(repo: Repository, manifest: Manifest) -> tuple[int, list[str], list[str]]:
    """How many pins were compared, what is wrong with them, and which parents are elsewhere."""
    compared, problems, absent = 0, [], []
    for parent in manifest.parents:
        if parent.metadata_sha is None:
            continue
        dataset = Dataset(manifest.env, parent.unique_id)
        if repo.history(dataset).head_seq() == 0:
            absent.append(str(dataset))
            continue
        compared += 1
        try:
            pinned = _pinned(repo, dataset, parent)
        except CorruptRecordError:
            continue  # the parent's own history reports it
        if pinned is None:
            what = f"{parent.unique_id} has no snapshot {parent.seq or parent.metadata_sha[:12]}"
            problems.append(f"{_key(manifest)}: its parent {what}")
        elif not _agrees(parent, pinned):
            what = f"{parent.unique_id} at {pinned.seq} is not the version that it pins"
            problems.append(f"{_key(manifest)}: its parent {what}")
    return compared, problems, absent


def _pinned(repo: Repository, dataset: Dataset, parent: Parent) -> Manifest | None:
    history = repo.history(dataset)
    if parent.seq is not None:
        try:
            return history.get(parent.seq)
        except UnknownReferenceError:
            return None
    return next((m for m in history.newest_first() if m.metadata_sha == parent.metadata_sha), None)


def _agrees(parent: Parent, pinned: Manifest) -> bool:
    return (
        pinned.metadata_sha == parent.metadata_sha
        and parent.snapshot_id in {None, pinned.snapshot_id}
        and parent.data_sha in {None, pinned.data_sha}
    )


def _key(manifest: Manifest) -> str:
    return layout.snapshot_key(Dataset(manifest.env, manifest.unique_id), manifest.seq)
