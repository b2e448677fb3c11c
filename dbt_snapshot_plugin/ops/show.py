"""`show`: manifest, profile and what is known now, joined into the one object people get."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dbt_snapshot_plugin.model.codec import decode, to_plain
from dbt_snapshot_plugin.model.events import BuildEnded
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.reference import Dataset, parse_reference
from dbt_snapshot_plugin.ops.status_of import effective_status
from dbt_snapshot_plugin.store.layout import object_key
from dbt_snapshot_plugin.store.repository import Repository
from spark_profiler.model import Profile


@dataclass(frozen=True)
class Shown:
    document: dict[str, Any]
    """The joined object; what was not computed is absent."""
    head_seq: int
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return self.document


def show(repo: Repository, text: str) -> Shown:
    """The snapshot that a reference names, joined."""
    manifest = repo.resolve(text)
    dataset = Dataset(manifest.env, manifest.unique_id)
    return Shown(
        document=joined(repo, manifest),
        head_seq=repo.history(dataset).head_seq(),
        notes=_notes(repo, manifest, text),
    )


def joined(repo: Repository, manifest: Manifest) -> dict[str, Any]:
    """The manifest's fields over the profile's, with the effective qa_status."""
    own: dict[str, Any] = to_plain(manifest)
    profile = read_profile(repo, manifest)
    document = {**(to_plain(profile) if profile else {}), **own}
    if profile is not None:
        absent = {**profile.not_computed, **manifest.not_computed}
        document["not_computed"] = {k: why for k, why in absent.items() if k not in document}
    document.update(_latest_annotations(repo, manifest))
    if manifest.message is not None:
        document["transform_description"] = manifest.message
    document["qa_status"] = to_plain(effective_status(repo, manifest))
    return document


def read_profile(repo: Repository, manifest: Manifest) -> Profile | None:
    """The profile of a snapshot, strictly decoded; None where none was made."""
    if manifest.profile is None:
        return None
    where = f"{repo.backend.root}/{object_key(manifest.profile.sha256)}"
    return decode(repo.objects.get(manifest.profile), Profile, where)


def _latest_annotations(repo: Repository, manifest: Manifest) -> dict[str, Any]:
    """Description, tags and meta change without a new version: the newest build has them."""
    for build in repo.events(Dataset(manifest.env, manifest.unique_id)).builds():
        ended = build.ended
        if ended is not None and ended.snapshot_id == manifest.snapshot_id:
            found = _annotations(ended)
            if found:
                return found
    return {}


def _annotations(ended: BuildEnded) -> dict[str, Any]:
    values = {
        "description": ended.description,
        "tags": ended.tags,
        "metadata": ended.metadata,
    }
    return {key: value for key, value in values.items() if value is not None}


def _notes(repo: Repository, manifest: Manifest, text: str) -> list[str]:
    """A version can stand in the history more than once (A, B, A): say which entry this is."""
    sha = parse_reference(text).selector.sha
    if not sha or not manifest.metadata_sha.startswith(sha):
        return []
    dataset = Dataset(manifest.env, manifest.unique_id)
    older = [
        str(m.seq)
        for m in repo.history(dataset).newest_first()
        if m.metadata_sha == manifest.metadata_sha and m.seq != manifest.seq
    ]
    if not older:
        return []
    return [
        f"version {sha} stands at {manifest.seq} and {', '.join(older)}; "
        f"this is the newest, {manifest.seq}"
    ]
