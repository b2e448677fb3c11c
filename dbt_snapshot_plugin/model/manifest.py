"""The manifest: one immutable record per dataset snapshot.

Field names are the ADR's, the PRD's and Lode's. How each field takes part in identity stands in
`identity.FIELD_CLASSES`; a field that is missing there fails a test.
"""

from __future__ import annotations

from typing import Any, Literal

from dbt_snapshot_plugin.model.codec import Record, SignedRecord
from dbt_snapshot_plugin.model.errors import StoreError
from dbt_snapshot_plugin.model.qa import QaStatus

FORMAT_VERSION = "1.0"
SCHEMA_NAME = "dbt-snapshot-manifest"

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

    unique_id: str
    basis: PinBasis
    seq: int | None = None
    snapshot_id: str | None = None
    metadata_sha: str | None = None
    data_sha: str | None = None
    reason: str | None = None
    looked_through: bool = False
    """A view between this model and its data: shown, but the identity holds what it reads."""


class ObjectRef(Record, frozen=True, kw_only=True):
    """A content-addressed object of the store."""

    sha256: str
    bytes: int


class FileEntry(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A file that we own, in the PRD's shape (nulls are kept)."""

    path: str
    media_type: str
    bytes: int
    sha256: str
    rows: int | None
    notes: str = ""


class SourceFiles(Record, frozen=True, kw_only=True):
    """Fingerprint of the live table's files: how much there was, and a hash of the listing."""

    count: int
    bytes: int
    fingerprint: str


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

    format_version: str = FORMAT_VERSION
    schema_name: str
    snapshot_id: str
    seq: int
    env: str
    unique_id: str
    dataset_name: str
    parent_snapshot_id: str | None
    parent_record_sha256: str | None
    change: Change
    created_at: str
    created_by: str

    metadata_sha: str
    data_sha: str
    hash_algo: str
    depth: Depth
    num_rows: int | None = None
    num_columns: int
    columns: list[Column]
    schema_hash: str
    volatile_columns: list[str]
    redacted_columns: list[str]

    code_sha: str | None
    compiled_code_sha: str | None = None
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


def check_version(found: str, where: str) -> None:
    """Refuses records of a format that this version can't know."""
    major = found.split(".", 1)[0]
    if major != FORMAT_VERSION.split(".", 1)[0]:
        raise StoreError(
            f"format version {found} is not known to this version (it reads {FORMAT_VERSION})",
            where=where,
            next_step="upgrade dbt-snapshot-plugin",
        )
