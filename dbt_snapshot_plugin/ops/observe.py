"""What a relation holds now: its profile at the depth that the settings allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt_snapshot_plugin.bridges.files import listing_fingerprint
from dbt_snapshot_plugin.bridges.spark import RelationFacts, SparkHost
from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex
from dbt_snapshot_plugin.model.config import Config
from dbt_snapshot_plugin.model.errors import CaptureError
from dbt_snapshot_plugin.model.graph import Node, marked_columns
from dbt_snapshot_plugin.model.manifest import Depth, SourceFiles

LISTING_ALGO = "file-listing-1"
SCHEMA_ALGO = "schema-only-1"


@dataclass(frozen=True)
class Observation:
    """The data as it was seen, before it is named or stored."""

    facts: RelationFacts
    profile: Any
    depth: Depth
    data_sha: str
    hash_algo: str
    num_rows: int | None
    source_files: SourceFiles | None
    volatile: list[str]
    redacted: list[str]
    warnings: list[str]


def observe(host: SparkHost, node: Node, config: Config) -> Observation:
    """Reads the relation; a writer that gets in between is noticed by the file listing."""
    facts = host.describe(node.relation)
    for _ in range(3):
        before = listing_fingerprint(facts.location) if facts.location else None
        seen = _look(host, node, config, facts, before)
        after = listing_fingerprint(facts.location) if facts.location else None
        if before == after:
            return seen
    raise CaptureError(
        f"{node.relation} keeps changing while it is read",
        where=facts.location,
        next_step="stop the other writer, then run `dbt-snapshot capture`",
    )


def _look(
    host: SparkHost, node: Node, config: Config, facts: RelationFacts, files: SourceFiles | None
) -> Observation:
    depth, warnings = _depth(host, node, config, facts, files)
    volatile = list(dict.fromkeys([*config.volatile, *marked_columns(node, "volatile")]))
    if depth == "full":
        profile = host.profile(node.relation, volatile=tuple(volatile), high_null=config.high_null)
        if profile.data_sha is None:
            depth = "schema"
            warnings.append(profile.not_computed.get("data_sha", "a column can't be hashed"))
    else:
        profile = host.schema_profile(node.relation)
    columns = {column.name for column in profile.columns}
    data_sha, algo = profile.data_sha, profile.hash_algo
    if depth == "schema" or data_sha is None:
        data_sha, algo = _shallow_identity(profile.schema_hash, files)
    return Observation(
        facts=facts,
        profile=profile,
        depth=depth,
        data_sha=data_sha,
        hash_algo=algo,
        num_rows=profile.num_rows if depth == "full" else None,
        source_files=files,
        volatile=[c for c in volatile if c in columns],
        redacted=sorted({*config.redact, *marked_columns(node, "pii")} & columns),
        warnings=warnings,
    )


def _depth(
    host: SparkHost, node: Node, config: Config, facts: RelationFacts, files: SourceFiles | None
) -> tuple[Depth, list[str]]:
    wanted: Depth = config.depth
    if node.resource_type == "source":
        wanted = "full" if config.sources == "full" else "schema"
    elif facts.is_view and config.views != "full":
        wanted = "schema"
    if wanted == "full":
        size = files.bytes if files else host.estimated_bytes(host.frame(node.relation))
        if size is not None and size > config.max_scan_bytes:
            text = (
                f"{node.relation} is about {size:,} bytes, over max_scan_bytes "
                f"({config.max_scan_bytes:,}): recorded at depth schema"
            )
            return "schema", [text]
    return wanted, []


def _shallow_identity(schema_hash: str, files: SourceFiles | None) -> tuple[str, str]:
    """Identity without reading rows: the file listing, else the schema alone."""
    if files is None:
        return sha256_hex(canonical_json([SCHEMA_ALGO, schema_hash])), SCHEMA_ALGO
    content = [LISTING_ALGO, schema_hash, files.fingerprint]
    return sha256_hex(canonical_json(content)), LISTING_ALGO
