"""The single checks of `validate`: each gives the problems it found, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex
from dbt_snapshot_plugin.model.errors import CorruptRecordError, UnknownReferenceError
from dbt_snapshot_plugin.model.events import BuildEnded, Event
from dbt_snapshot_plugin.model.identity import metadata_sha
from dbt_snapshot_plugin.model.manifest import Manifest, ObjectRef, Parent
from dbt_snapshot_plugin.model.redaction import redact_profile
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.show import read_profile
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.backend import Backend
from dbt_snapshot_plugin.store.repository import Repository
from spark_profiler.model import Profile


def chain_problems(manifest: Manifest, previous: Manifest | None) -> list[str]:
    """The record before this one must be the one that it was written after."""
    found = (manifest.parent_record_sha256, manifest.parent_snapshot_id)
    wanted = (previous.record_sha256, previous.snapshot_id) if previous else (None, None)
    if found == wanted:
        return []
    return [f"{_key(manifest)}: it does not follow the record before it, which was replaced"]


def gaps(numbers: list[int]) -> list[tuple[int, int]]:
    """First and last of every run of numbers that are missing, from 1 up."""
    found = []
    expected = 1
    for number in numbers:
        if number > expected:
            found.append((expected, number - 1))
        expected = number + 1
    return found


def identity_problems(manifest: Manifest) -> list[str]:
    """What follows from other fields must follow from them."""
    schema = [[column.name, column.spark_type] for column in manifest.columns]
    wanted = {
        "metadata_sha": metadata_sha(manifest),
        "schema_hash": sha256_hex(canonical_json(schema)),
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
    def keys(self) -> set[str]:
        """The objects that were looked at."""
        return {layout.object_key(sha256) for sha256 in self._seen}

    def problems(self, manifest: Manifest) -> list[str]:
        """The object must be there, whole, readable, and about the same data."""
        if manifest.profile is None:
            missing = manifest.depth == "full"
            return [f"{_key(manifest)}: it names no profile"] if missing else []
        profile = self._read(manifest, manifest.profile)
        if isinstance(profile, str):
            return [profile]
        fields = ["num_rows", "schema_hash", "num_columns"]
        if manifest.depth == "full":
            fields += ["data_sha", "hash_algo"]
        problems = [
            f"{_key(manifest)}: its profile has another {name}"
            for name in fields
            if getattr(profile, name) != getattr(manifest, name)
        ]
        if not _is_redacted(profile, manifest.redacted_columns):
            problems.append(f"{_key(manifest)}: its profile shows values of redacted columns")
        return problems

    def _read(self, manifest: Manifest, ref: ObjectRef) -> Profile | str:
        if ref.sha256 not in self._seen:
            try:
                profile = read_profile(self._repo, manifest)
                assert profile is not None
                self._seen[ref.sha256] = profile
            except CorruptRecordError as error:
                self._seen[ref.sha256] = line(self._repo.backend, error)
        return self._seen[ref.sha256]


def _is_redacted(profile: Profile, columns: list[str]) -> bool:
    if not columns:
        return True
    plain = profile.to_dict()
    return redact_profile(plain, columns) == plain


def object_problems(backend: Backend) -> Iterator[tuple[str, list[str]]]:
    """Every object and what is wrong with it: one that no snapshot names may be named by the
    next, which would not write it again."""
    for folder in backend.names(layout.OBJECTS):
        for name in backend.names(f"{layout.OBJECTS}/{folder}"):
            key = f"{layout.OBJECTS}/{folder}/{name}"
            try:
                data = backend.get(key)
            except CorruptRecordError as error:
                yield key, [line(backend, error)]
                continue
            sound = data is not None and layout.object_key(sha256_hex(data)) == key
            yield key, [] if sound else [f"{key}: its bytes do not match its name"]


def build_problems(key: str, event: Event, history: Mapping[int, Manifest | None]) -> list[str]:
    """A build that ended in a capture must find its snapshot: else the history was cut off.

    `history` has None where a manifest is there but can't be read.
    """
    ended = event.body
    if not isinstance(ended, BuildEnded) or not ended.captured or ended.seq is None:
        return []
    if ended.seq not in history:
        return [f"{key}: this build left snapshot {ended.seq}, which is missing"]
    manifest = history[ended.seq]
    if manifest is None:
        return []
    found = (manifest.snapshot_id, manifest.metadata_sha, manifest.data_sha)
    if found == (ended.snapshot_id, ended.metadata_sha, ended.data_sha):
        return []
    return [f"{key}: this build left another snapshot {ended.seq} than is there now"]


def parent_problems(repo: Repository, manifest: Manifest) -> tuple[int, list[str], list[str]]:
    """How many pins were compared, what is wrong with them, and which parents are elsewhere."""
    compared, problems, absent = 0, [], []
    for parent in manifest.parents:
        if parent.metadata_sha is None:
            continue
        dataset = Dataset(manifest.env, parent.unique_id)
        if not layout.can_store(dataset) or repo.history(dataset).head_seq() == 0:
            absent.append(str(dataset)[:200])
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


def line(backend: Backend, error: CorruptRecordError) -> str:
    """One line on damage, with the key that all other lines begin with too."""
    return f"{(error.where or '').removeprefix(backend.root + '/')}: {error.what}"


def _key(manifest: Manifest) -> str:
    return layout.snapshot_key(Dataset(manifest.env, manifest.unique_id), manifest.seq)
