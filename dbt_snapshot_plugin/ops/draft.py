"""The manifest of a coming snapshot, before it is known what it follows."""

from __future__ import annotations

import getpass
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from dbt_snapshot_plugin.model.code import VarLookup, code_sha
from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex
from dbt_snapshot_plugin.model.config import Config
from dbt_snapshot_plugin.model.errors import CaptureError
from dbt_snapshot_plugin.model.graph import Graph, Node, pipeline_stage, upstream
from dbt_snapshot_plugin.model.identity import metadata_sha
from dbt_snapshot_plugin.model.ids import format_time, now
from dbt_snapshot_plugin.model.manifest import (
    SCHEMA_NAME,
    Change,
    Column,
    Contracts,
    Manifest,
    Parent,
    Producer,
)
from dbt_snapshot_plugin.model.qa import UNCHECKED
from dbt_snapshot_plugin.model.redaction import redact_profile
from dbt_snapshot_plugin.ops.observe import Observation


@dataclass(frozen=True)
class RunFacts:
    """What all captures of one run share."""

    env: str
    project_dir: Path
    producer: Producer
    versions: Mapping[str, str]
    lookup_var: VarLookup
    environ: Mapping[str, str]
    invocation_id: str | None


@dataclass(frozen=True)
class Draft:
    """Everything about the coming manifest that does not depend on HEAD."""

    graph: Graph
    node: Node
    config: Config
    run: RunFacts
    seen: Observation
    parents: list[Parent]

    def profile_bytes(self) -> bytes:
        """The profile as it is stored, without what may not be said."""
        plain = self.seen.profile.to_dict()
        return canonical_json(redact_profile(plain, self.seen.redacted))

    def manifest(self, head: Manifest | None, snapshot_id: str) -> Manifest:
        """What comes after `head`; the profile's object and the QA state are still missing."""
        node, seen, run = self.node, self.seen, self.run
        unnamed = Manifest(
            schema_name=SCHEMA_NAME,
            snapshot_id=snapshot_id,
            seq=head.seq + 1 if head else 1,
            env=run.env,
            unique_id=node.unique_id,
            dataset_name=node.name,
            parent_snapshot_id=head.snapshot_id if head else None,
            parent_record_sha256=head.record_sha256 if head else None,
            change=_change(head, seen.data_sha),
            created_at=format_time(now()),
            created_by=_user(),
            metadata_sha="",
            data_sha=seen.data_sha,
            hash_algo=seen.hash_algo,
            depth=seen.depth,
            num_rows=seen.num_rows,
            num_columns=seen.profile.num_columns,
            columns=[_column(column) for column in seen.profile.columns],
            schema_hash=seen.profile.schema_hash,
            volatile_columns=seen.volatile,
            redacted_columns=seen.redacted,
            code_sha=self._code_sha,
            compiled_code_sha=_sha_or_none(node.compiled_code),
            materialization=node.materialization,
            pipeline_stage=pipeline_stage(node, self.config.stage_rules),
            message=head.message if head else None,
            parents=self.parents,
            relation=node.relation,
            dataset_path=seen.facts.location,
            source_type="view" if seen.facts.is_view else seen.facts.provider,
            source_files=seen.source_files,
            description=node.description,
            tags=dict.fromkeys(node.tags, ""),
            metadata=plain_meta(node.meta),
            producer=run.producer,
            contracts=Contracts(schemas={node.name: "1.0"}, compatibility={}),
            files=[],
            checksum_algorithm="sha256",
            qa_status_at_commit=UNCHECKED,
            invocation_id=run.invocation_id,
            versions=dict(run.versions),
            not_computed=_absent(seen, node),
        )
        return msgspec.structs.replace(unnamed, metadata_sha=metadata_sha(unnamed))

    @cached_property
    def _code_sha(self) -> str | None:
        through = upstream(self.graph, self.node.unique_id).through
        lookup, environ = self.run.lookup_var, self.run.environ
        return code_sha(self.graph, self.node, through, lookup, environ, self._seed_bytes())

    def _seed_bytes(self) -> bytes | None:
        if self.node.resource_type != "seed":
            return None
        path = self.run.project_dir / (self.node.root_path or "") / self.node.path
        try:
            return path.read_bytes()
        except OSError as error:
            raise CaptureError(
                f"the seed's file can't be read: {error.strerror}",
                where=str(path),
                next_step="capture where the project's files are, or build the seed again",
            ) from None


def _change(head: Manifest | None, data_sha: str) -> Change:
    if head is None:
        return "first"
    return "metadata" if head.data_sha == data_sha else "data"


def _column(column: Any) -> Column:
    return Column(
        name=column.name,
        dtype=column.dtype,
        spark_type=column.spark_type,
        kind=column.kind,
        nullable=column.nullable,
    )


def _absent(seen: Observation, node: Node) -> dict[str, str]:
    """The reason of each field of the manifest that is not there."""
    event_time = node.config.get("event_time")
    no_times = f"the bounds of {event_time} are not computed by this version"
    times = no_times if event_time else "the model declares no event_time"
    reasons = {
        "source_hash": "the source's bytes are not read for a profile (source_hash: off)",
        "min_timestamp": times,
        "max_timestamp": times,
    }
    if not seen.rows_read:
        reasons["num_rows"] = "recorded at depth schema: rows are not read"
        reasons["column_stats"] = "recorded at depth schema: rows are not read"
    if seen.source_files is None:
        reasons["source_files"] = "the relation has no files that can be listed from here"
    return reasons


def plain_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """dbt meta may hold YAML dates and such; in JSON they stand as text."""
    return {str(key): _plain(value) for key, value in meta.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return plain_meta(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)


def _sha_or_none(text: str | None) -> str | None:
    return sha256_hex(text.encode("utf-8", "surrogatepass")) if text else None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
