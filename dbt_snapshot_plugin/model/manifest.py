"""The manifest: one immutable record per dataset snapshot.

Field names are the ADR's, the PRD's and Lode's. How each field takes part in identity stands in
`identity.FIELD_CLASSES`; a field that is missing there fails a test.
"""

from __future__ import annotations

from typing import Any, Literal

from dbt_snapshot_plugin.model.codec import Record, SignedRecord
from dbt_snapshot_plugin.model.fields import Count, Name, Seq, Sha256, Time, Uuid
from dbt_snapshot_plugin.model.ids import parse_time
from dbt_snapshot_plugin.model.qa import QaStatus

SCHEMA_NAME = "dbt-snapshot-manifest"

SCHEMA_ALGO = "schema-only-1"
"""The `hash_algo` of a data_sha that says nothing of the values: no file could be listed."""

Depth = Literal["full", "schema"]
Change = Literal["first", "data", "metadata"]
PinBasis = Literal["captured", "schema", "raced", "unpinned"]


class Column(Record, frozen=True, kw_only=True):
    """One column as Spark declares it."""

    name: str
    dtype: str
    spark_type: str
    kind: str
    nullable: bool


class Parent(Record, frozen=True, kw_only=True):
    """One upstream dataset, pinned to the version that was read, or the reason why it is not."""

    unique_id: Name
    basis: PinBasis
    seq: Seq | None = None
    snapshot_id: Uuid | None = None
    metadata_sha: Sha256 | None = None
    data_sha: Sha256 | None = None
    reason: str | None = None
    looked_through: bool = False
    """A view between this model and its data: shown, but the identity holds what it reads."""


class ObjectRef(Record, frozen=True, kw_only=True):
    """A content-addressed object of the store."""

    sha256: Sha256
    bytes: Count


class FileEntry(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A file that we own, in the PRD's shape (nulls are kept)."""

    path: str
    media_type: str
    bytes: Count
    sha256: Sha256
    rows: Count | None
    notes: str = ""


class SourceFiles(Record, frozen=True, kw_only=True):
    """Fingerprint of the live table's files: how much there was, and a hash of the listing."""

    count: Count
    bytes: Count
    fingerprint: Sha256


class Producer(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Who made it, in the PRD's shape (nulls are kept)."""

    repo: str | None
    commit: str | None
    task: str = "SNAPSHOT"
    report_path: str | None = None


class Contracts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The schema versions that a consumer may rely on, in the PRD's shape."""

    schemas: dict[str, str]
    compatibility: dict[str, str]


class Manifest(SignedRecord, frozen=True, kw_only=True):
    """What the data is, where it came from and whether it was good when it was recorded."""

    schema_name: str
    snapshot_id: Uuid
    seq: Seq
    env: Name
    unique_id: Name
    dataset_name: str
    parent_snapshot_id: Uuid | None
    parent_record_sha256: Sha256 | None
    change: Change
    created_at: Time
    created_by: str

    metadata_sha: Sha256
    data_sha: Sha256
    hash_algo: str
    depth: Depth
    num_rows: Count | None = None
    num_columns: Count
    columns: list[Column]
    schema_hash: Sha256
    volatile_columns: list[str]
    redacted_columns: list[str]

    code_sha: Sha256 | None
    compiled_code_sha: Sha256 | None = None
    materialization: str
    pipeline_stage: str | None = None
    message: str | None = None
    parents: list[Parent]

    relation: str
    dataset_path: str | None = None
    source_type: str
    source_files: SourceFiles | None = None

    description: str
    tags: dict[str, str]
    metadata: dict[str, Any]

    producer: Producer
    contracts: Contracts
    files: list[FileEntry]
    checksum_algorithm: str
    profile: ObjectRef | None = None
    qa_status_at_commit: QaStatus
    invocation_id: str | None = None
    versions: dict[str, str]
    not_computed: dict[str, str]

    def __post_init__(self) -> None:
        parse_time(self.created_at)  # the form alone allows a 30th of February
