"""Events: small immutable records beside a dataset's history, in one envelope."""

from __future__ import annotations

from typing import Any, Literal

from dbt_snapshot_plugin.model.codec import Record, SignedRecord
from dbt_snapshot_plugin.model.fields import Name, Seq, Sha256, Time, Uuid
from dbt_snapshot_plugin.model.ids import parse_time
from dbt_snapshot_plugin.model.manifest import SourceFiles
from dbt_snapshot_plugin.model.qa import Evidence

SKIPPED = "skipped"  # dbt's status of a node that it did not build
Outcome = Literal["new", "metadata", "unchanged", "skipped", "failed"]


class BuildStarted(Record, frozen=True, kw_only=True, tag_field="kind", tag="build_started"):
    """Written before dbt touches the relation: from here on the old verdict may be wrong."""

    build_id: Uuid
    started_at: Time
    command: str
    relation: str | None = None
    invocation_id: str | None = None
    built_at: str | None = None
    """Only for a capture after the fact: when dbt had finished what is captured now."""

    def __post_init__(self) -> None:
        parse_time(self.started_at)
        if self.built_at is not None:
            parse_time(self.built_at)


class BuildEnded(Record, frozen=True, kw_only=True, tag_field="kind", tag="build_ended"):
    """How the build ended, and which snapshot holds what it left."""

    build_id: Uuid
    started_at: Time
    ended_at: Time
    status: str
    outcome: Outcome
    reason: str | None = None
    seq: Seq | None = None
    snapshot_id: Uuid | None = None
    metadata_sha: Sha256 | None = None
    data_sha: Sha256 | None = None
    invocation_id: str | None = None
    source_files: SourceFiles | None = None
    """The relation's files as this build left them: an equal rebuild writes other files."""
    description: str | None = None
    tags: dict[str, str] | None = None
    metadata: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        parse_time(self.started_at)
        parse_time(self.ended_at)

    @property
    def captured(self) -> bool:
        return self.outcome in {"new", "metadata", "unchanged"}


class Event(SignedRecord, frozen=True, kw_only=True):
    """The envelope; `body.kind` says what it is."""

    event_id: Uuid
    env: Name
    unique_id: Name
    written_at: Time
    body: BuildStarted | BuildEnded | Evidence

    def __post_init__(self) -> None:
        parse_time(self.written_at)
        if isinstance(self.body, Evidence):
            for moment in (self.body.observed_at, self.body.ingested_at):
                if moment is not None:
                    parse_time(moment)


class Build(Record, frozen=True, kw_only=True):
    """Start and end of one build, put together when read."""

    started: BuildStarted
    ended: BuildEnded | None = None

    @property
    def touched(self) -> bool:
        """Whether the relation may have changed: dbt also starts nodes only to skip them."""
        return self.ended is None or self.ended.status != SKIPPED

    @property
    def data_since(self) -> str | None:
        """From when on the relation held what this build left; None until it has ended."""
        if self.ended is None:
            return None
        return self.started.built_at or self.ended.ended_at
