"""Events: small immutable records beside a dataset's history, in one envelope."""

from __future__ import annotations

from typing import Any, Literal

from dbt_snapshot_plugin.model.codec import Record, SignedRecord
from dbt_snapshot_plugin.model.manifest import FORMAT_VERSION
from dbt_snapshot_plugin.model.qa import Evidence

Outcome = Literal["new", "metadata", "unchanged", "skipped", "failed"]


class BuildStarted(Record, frozen=True, kw_only=True, tag_field="kind", tag="build_started"):
    """Written before dbt touches the relation: from here on the old verdict may be wrong."""

    build_id: str
    started_at: str
    command: str
    relation: str | None = None
    invocation_id: str | None = None


class BuildEnded(Record, frozen=True, kw_only=True, tag_field="kind", tag="build_ended"):
    """How the build ended, and which snapshot holds what it left."""

    build_id: str
    started_at: str
    ended_at: str
    status: str
    outcome: Outcome
    reason: str | None = None
    seq: int | None = None
    snapshot_id: str | None = None
    metadata_sha: str | None = None
    data_sha: str | None = None
    invocation_id: str | None = None
    description: str | None = None
    tags: dict[str, str] | None = None
    metadata: dict[str, Any] | None = None

    @property
    def captured(self) -> bool:
        return self.outcome in {"new", "metadata", "unchanged"}


class Event(SignedRecord, frozen=True, kw_only=True):
    """The envelope; `body.kind` says what it is."""

    format_version: str = FORMAT_VERSION
    event_id: str
    env: str
    unique_id: str
    written_at: str
    body: BuildStarted | BuildEnded | Evidence


class Build(Record, frozen=True, kw_only=True):
    """Start and end of one build, put together when read."""

    started: BuildStarted
    ended: BuildEnded | None = None
