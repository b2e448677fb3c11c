"""Capture: one relation as it is now becomes a snapshot, or is found to be HEAD already."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt_snapshot_plugin.bridges.spark import SparkHost
from dbt_snapshot_plugin.model.code import VarLookup, code_sha
from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex
from dbt_snapshot_plugin.model.config import Config
from dbt_snapshot_plugin.model.errors import CaptureError
from dbt_snapshot_plugin.model.events import Outcome
from dbt_snapshot_plugin.model.graph import Graph, Node, pipeline_stage, upstream
from dbt_snapshot_plugin.model.identity import metadata_sha
from dbt_snapshot_plugin.model.ids import format_time, new_id, now
from dbt_snapshot_plugin.model.manifest import (
    SCHEMA_NAME,
    Column,
    Contracts,
    Manifest,
    ObjectRef,
    Parent,
    Producer,
)
from dbt_snapshot_plugin.model.qa import fold
from dbt_snapshot_plugin.model.redaction import redact_profile
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.observe import Observation, observe
from dbt_snapshot_plugin.ops.pins import Heads, pin_parents
from dbt_snapshot_plugin.store.repository import Repository


@dataclass(frozen=True)
class Project:
    """What all captures of one run share."""

    env: str
    directory: Path
    producer: Producer
    versions: dict[str, str]
    lookup_var: VarLookup
    environ: Mapping[str, str]
    invocation_id: str | None


@dataclass(frozen=True)
class Captured:
    """What a capture came to."""

    dataset: Dataset
    outcome: Outcome
    seq: int | None = None
    snapshot_id: str | None = None
    metadata_sha: str | None = None
    data_sha: str | None = None
    num_rows: int | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()


def capture_node(
    host: SparkHost,
    repository: Repository,
    graph: Graph,
    node: Node,
    config: Config,
    project: Project,
    *,
    heads_at_start: Heads | None = None,
    message: str | None = None,
) -> Captured:
    """Profile, lineage, identity, QA, commit: in this order, one way."""
    dataset = Dataset(project.env, node.unique_id)
    _refuse_other_relation(repository, dataset, node)
    seen = observe(host, node, config)
    empty = _judge_empty(seen, node, config)
    if empty == "skip":
        return Captured(dataset, "skipped", reason="0 rows and on_empty: skip")
    parents = pin_parents(repository, graph, project.env, node.unique_id, heads_at_start)
    draft = _Draft(graph, node, config, project, seen, parents, message)
    warnings = (*seen.warnings, *([empty] if empty else []))
    return _commit(repository, dataset, draft, warnings)


def _refuse_other_relation(repository: Repository, dataset: Dataset, node: Node) -> None:
    head = repository.history(dataset).head()
    if head is not None and head.relation != node.relation:
        raise CaptureError(
            f"{dataset} is the history of {head.relation}, but this build wrote {node.relation}",
            next_step="give this copy of the project an `env` of its own "
            "(vars.dbt_snapshot.env or DBT_SNAPSHOT_ENV)",
        )


def _judge_empty(seen: Observation, node: Node, config: Config) -> str | None:
    if seen.num_rows != 0 or config.on_empty == "allow":
        return None
    if config.on_empty == "error":
        raise CaptureError(
            f"{node.relation} has 0 rows and on_empty is error", next_step="check what it reads"
        )
    return "skip" if config.on_empty == "skip" else f"{node.relation} has 0 rows"


@dataclass(frozen=True)
class _Draft:
    """Everything about the coming manifest that does not depend on HEAD."""

    graph: Graph
    node: Node
    config: Config
    project: Project
    seen: Observation
    parents: list[Parent]
    message: str | None

    def identity(self, message: str | None) -> str:
        return metadata_sha(
            unique_id=self.node.unique_id,
            data_sha=self.seen.data_sha,
            hash_algo=self.seen.hash_algo,
            schema=[(c.name, c.spark_type) for c in self.seen.profile.columns],
            volatile_columns=self.seen.volatile,
            redacted_columns=self.seen.redacted,
            code_sha=self.code_sha,
            materialization=self.node.materialization,
            pipeline_stage=self.stage,
            message=message,
            parents=self.parents,
        )

    @property
    def stage(self) -> str | None:
        return pipeline_stage(self.node, self.config.stage_rules)

    @property
    def code_sha(self) -> str | None:
        through = upstream(self.graph, self.node.unique_id).through
        lookup, environ = self.project.lookup_var, self.project.environ
        return code_sha(self.graph, self.node, through, lookup, environ, self._seed_bytes())

    def _seed_bytes(self) -> bytes | None:
        if self.node.resource_type != "seed":
            return None
        path = Path(self.node.root_path or self.project.directory) / self.node.path
        try:
            return path.read_bytes()
        except OSError as error:
            raise CaptureError(
                f"the seed's file can't be read: {error.strerror}", where=str(path)
            ) from None

    def profile_bytes(self) -> bytes:
        plain = self.seen.profile.to_dict()
        return canonical_json(redact_profile(plain, self.seen.redacted))

    def follow(
        self, head: Manifest | None, profile: ObjectRef | None, qa: Any, snapshot_id: str
    ) -> Manifest:
        message = self.message if self.message is not None else (head.message if head else None)
        node, seen = self.node, self.seen
        change = "first" if head is None else "data"
        if head is not None and head.data_sha == seen.data_sha:
            change = "metadata"
        return Manifest(
            schema_name=SCHEMA_NAME,
            snapshot_id=snapshot_id,
            seq=head.seq + 1 if head else 1,
            env=self.project.env,
            unique_id=node.unique_id,
            dataset_name=node.name,
            parent_snapshot_id=head.snapshot_id if head else None,
            parent_record_sha256=head.record_sha256 if head else None,
            change=change,  # type: ignore[arg-type]
            created_at=format_time(now()),
            created_by=_user(),
            metadata_sha=self.identity(message),
            data_sha=seen.data_sha,
            hash_algo=seen.hash_algo,
            depth=seen.depth,
            num_rows=seen.num_rows,
            num_columns=seen.profile.num_columns,
            columns=[
                Column(
                    name=c.name,
                    dtype=c.dtype,
                    spark_type=c.spark_type,
                    kind=c.kind,
                    nullable=c.nullable,
                )
                for c in seen.profile.columns
            ],
            schema_hash=seen.profile.schema_hash,
            volatile_columns=sorted(seen.volatile),
            redacted_columns=seen.redacted,
            code_sha=self.code_sha,
            compiled_code_sha=_sha_or_none(node.compiled_code),
            materialization=node.materialization,
            pipeline_stage=self.stage,
            message=message,
            parents=self.parents,
            relation=node.relation,
            dataset_path=seen.facts.location,
            source_type="view" if seen.facts.is_view else seen.facts.provider,
            source_files=seen.source_files,
            description=node.description,
            tags=dict.fromkeys(node.tags, ""),
            metadata=plain_meta(node.meta),
            producer=self.project.producer,
            contracts=Contracts(schemas={node.name: "1.0"}, compatibility={}),
            files=[],
            checksum_algorithm="sha256",
            profile=profile,
            qa_status_at_commit=qa,
            invocation_id=self.project.invocation_id,
            versions=self.project.versions,
            not_computed=_absent(seen),
        )


def _commit(
    repository: Repository, dataset: Dataset, draft: _Draft, warnings: tuple[str, ...]
) -> Captured:
    seen = draft.seen
    snapshot_id = new_id()
    unchanged: list[Manifest] = []

    def make(head: Manifest | None) -> Manifest | None:
        unchanged.clear()
        message = draft.message if draft.message is not None else (head.message if head else None)
        if head is not None and head.metadata_sha == draft.identity(message):
            unchanged.append(head)
            return None
        profile = repository.objects.put(draft.profile_bytes()) if seen.depth == "full" else None
        qa = fold(repository.events(dataset).evidence(), seen.data_sha)
        return draft.follow(head, profile, qa, snapshot_id)

    committed = repository.history(dataset).append(make)
    manifest = committed or unchanged[0]
    outcome: Outcome = "unchanged"
    if committed is not None:
        outcome = "metadata" if committed.change == "metadata" else "new"
    return Captured(
        dataset=dataset,
        outcome=outcome,
        seq=manifest.seq,
        snapshot_id=manifest.snapshot_id,
        metadata_sha=manifest.metadata_sha,
        data_sha=manifest.data_sha,
        num_rows=manifest.num_rows,
        warnings=warnings,
    )


def _absent(seen: Observation) -> dict[str, str]:
    reasons = {
        "source_hash": "the source's bytes are not read for a profile (source_hash: off)",
        "min_timestamp": "the model declares no event_time",
        "max_timestamp": "the model declares no event_time",
    }
    if seen.depth == "schema":
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
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return value
    return str(value)


def _sha_or_none(text: str | None) -> str | None:
    return sha256_hex(text.encode("utf-8", "surrogatepass")) if text else None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
