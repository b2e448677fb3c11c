"""What makes two snapshots the same version: the class of every manifest field, in one place."""

from __future__ import annotations

from enum import Enum

from dbt_snapshot_plugin.model.codec import Record, encode, sha256_hex
from dbt_snapshot_plugin.model.manifest import Manifest, Parent


class FieldClass(Enum):
    """How a field takes part in `metadata_sha`."""

    IDENTITY = "identity"
    DERIVED = "derived"
    ANNOTATION = "annotation"
    VOLATILE = "volatile"


_IDENTITY, _DERIVED = FieldClass.IDENTITY, FieldClass.DERIVED
_ANNOTATION, _VOLATILE = FieldClass.ANNOTATION, FieldClass.VOLATILE

FIELD_CLASSES: dict[str, tuple[FieldClass, str]] = {
    "unique_id": (_IDENTITY, "a version belongs to one dbt node"),
    "data_sha": (_IDENTITY, "the values"),
    "hash_algo": (_IDENTITY, "says what data_sha means"),
    "columns": (_IDENTITY, "ordered names and Spark types; nullability, dtype and kind follow"),
    "volatile_columns": (_IDENTITY, "which columns data_sha leaves out"),
    "redacted_columns": (_IDENTITY, "tagging a column must make a new, redacted version"),
    "code_sha": (_IDENTITY, "the logic that made the data"),
    "materialization": (_IDENTITY, "a table and a view of the same rows are different things"),
    "pipeline_stage": (_IDENTITY, "what the producer says the data is fit for"),
    "message": (_IDENTITY, "a person's statement about this version"),
    "parents": (_IDENTITY, "unique_id and, where pinned in full, metadata_sha"),
    "depth": (_DERIVED, "follows from hash_algo"),
    "num_rows": (_DERIVED, "follows from the data"),
    "num_columns": (_DERIVED, "follows from columns"),
    "schema_hash": (_DERIVED, "follows from columns"),
    "compiled_code_sha": (_DERIVED, "holds schema names, so it differs between environments"),
    "source_files": (_DERIVED, "a rewrite of the same rows makes new files"),
    "profile": (_DERIVED, "statistics follow from the data and the profiler's version"),
    "files": (_DERIVED, "copies of the data"),
    "checksum_algorithm": (_DERIVED, "how files are checked"),
    "not_computed": (_DERIVED, "follows from the profiler's version and settings"),
    "contracts": (_DERIVED, "follows from the schema"),
    "change": (_DERIVED, "follows from the previous snapshot"),
    "metadata_sha": (_DERIVED, "the hash of the identity itself"),
    "description": (_ANNOTATION, "prose may improve without a new version"),
    "tags": (_ANNOTATION, "labels may change without a new version"),
    "metadata": (_ANNOTATION, "dbt meta may change without a new version"),
    "dataset_name": (_VOLATILE, "a display name"),
    "format_version": (_VOLATILE, "the record's form, not its meaning"),
    "schema_name": (_VOLATILE, "the record's form, not its meaning"),
    "snapshot_id": (_VOLATILE, "names the event"),
    "seq": (_VOLATILE, "place in the history"),
    "env": (_VOLATILE, "dev and prod of the same thing have the same version"),
    "parent_snapshot_id": (_VOLATILE, "place in the history"),
    "parent_record_sha256": (_VOLATILE, "chains the history's records"),
    "record_sha256": (_VOLATILE, "checksum of this record"),
    "created_at": (_VOLATILE, "time of the event"),
    "created_by": (_VOLATILE, "user of the event"),
    "relation": (_VOLATILE, "a physical name, which holds the environment's schema"),
    "dataset_path": (_VOLATILE, "a physical place"),
    "source_type": (_VOLATILE, "the storage format does not change values"),
    "producer": (_VOLATILE, "repository and commit of the event"),
    "qa_status_at_commit": (_VOLATILE, "a verdict about the data, not the data"),
    "invocation_id": (_VOLATILE, "names the dbt run"),
    "versions": (_VOLATILE, "tools that were installed"),
}


class IdentityParent(Record, frozen=True, kw_only=True):
    """A parent without a full pin enters by its name alone: the identity holds content only."""

    unique_id: str
    metadata_sha: str | None = None


class Identity(Record, frozen=True, kw_only=True):
    """The identity fields in the form that is hashed."""

    unique_id: str
    data_sha: str
    hash_algo: str
    schema: list[tuple[str, str]]
    volatile_columns: list[str]
    redacted_columns: list[str]
    code_sha: str | None
    materialization: str
    pipeline_stage: str | None
    parents: list[IdentityParent]
    message: str | None = None


def metadata_sha(manifest: Manifest) -> str:
    """The version that users pin: SHA-256 over canonical JSON of the identity fields."""
    return sha256_hex(encode(identity_of(manifest)))


def identity_of(manifest: Manifest) -> Identity:
    """What is left of a manifest when everything that is not identity is taken away."""
    return Identity(
        unique_id=manifest.unique_id,
        data_sha=manifest.data_sha,
        hash_algo=manifest.hash_algo,
        schema=[(column.name, column.spark_type) for column in manifest.columns],
        volatile_columns=sorted(manifest.volatile_columns),
        redacted_columns=sorted(manifest.redacted_columns),
        code_sha=manifest.code_sha,
        materialization=manifest.materialization,
        pipeline_stage=manifest.pipeline_stage,
        parents=_identity_parents(manifest.parents),
        message=manifest.message,
    )


def _identity_parents(parents: list[Parent]) -> list[IdentityParent]:
    """A view that was looked through is left out, else the identity would depend on which views
    happened to be selected in this run."""
    return [
        IdentityParent(
            unique_id=parent.unique_id,
            metadata_sha=parent.metadata_sha if parent.basis == "captured" else None,
        )
        for parent in sorted(parents, key=lambda p: p.unique_id)
        if not parent.looked_through
    ]
