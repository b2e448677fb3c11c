"""What a relation holds now: its profile at the depth that the settings allow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dbt_snapshot_plugin.bridges.files import listing_fingerprint
from dbt_snapshot_plugin.bridges.spark import RelationFacts, SparkHost
from dbt_snapshot_plugin.model.codec import canonical_json, sha256_hex
from dbt_snapshot_plugin.model.config import Config
from dbt_snapshot_plugin.model.errors import CaptureError
from dbt_snapshot_plugin.model.graph import Node, marked_columns
from dbt_snapshot_plugin.model.manifest import SCHEMA_ALGO, Depth, SourceFiles

LISTING_ALGO = "file-listing-1"
_ATTEMPTS = 3


@dataclass(frozen=True)
class Observation:
    """The data as it was seen, before it is named or stored."""

    facts: RelationFacts
    profile: Any
    rows_read: bool
    """Whether the profile has figures; without them it holds the schema alone."""
    depth: Depth
    data_sha: str
    hash_algo: str
    source_files: SourceFiles | None
    volatile: list[str]
    redacted: list[str]
    warnings: list[str]

    @property
    def num_rows(self) -> int | None:
        return self.profile.num_rows if self.rows_read else None


def observe(host: SparkHost, node: Node, config: Config) -> Observation:
    """Reads the relation; a writer that gets in between is noticed by the file listing."""
    facts = host.describe(node.relation)
    for _ in range(_ATTEMPTS):
        before = listing_fingerprint(facts.location)
        seen = _look(host, node, config, facts, before)
        if listing_fingerprint(facts.location) == before:
            return seen
    raise CaptureError(
        f"{node.relation} keeps changing while it is read",
        where=facts.location,
        next_step="stop the other writer, then run `dbt-snapshot capture`",
    )


def _look(
    host: SparkHost, node: Node, config: Config, facts: RelationFacts, files: SourceFiles | None
) -> Observation:
    frame = host.frame(node.relation)
    columns = list(frame.columns)
    marked = {mark: marked_columns(node, mark) for mark in ("volatile", "pii")}
    volatile = _among([*config.volatile, *marked["volatile"]], columns)
    redacted = _among([*config.redact, *marked["pii"]], columns)
    depth, warnings = _depth(host, node, config, facts, files, frame)
    warnings += _lost_marks(node, marked, columns)
    rows_read = depth == "full"
    if rows_read:
        profile = host.profile(
            frame, node.relation, volatile=tuple(volatile), high_null=config.high_null
        )
    else:
        profile = host.schema_profile(frame, node.relation)
    data_sha, algo = profile.data_sha, profile.hash_algo
    if not rows_read or data_sha is None:
        if rows_read:
            why = profile.not_computed["data_sha"]
            warnings.append(f"{node.relation} is recorded at depth schema: {why}")
        depth = "schema"
        data_sha, algo = _shallow_identity(profile.schema_hash, files)
    return Observation(
        facts=facts,
        profile=profile,
        rows_read=rows_read,
        depth=depth,
        data_sha=data_sha,
        hash_algo=algo,
        source_files=files,
        volatile=sorted(volatile),
        redacted=sorted(redacted),
        warnings=warnings,
    )


def _depth(
    host: SparkHost,
    node: Node,
    config: Config,
    facts: RelationFacts,
    files: SourceFiles | None,
    frame: Any,
) -> tuple[Depth, list[str]]:
    wanted: Depth = config.depth
    if node.resource_type == "source":
        wanted = "full" if config.sources == "full" else "schema"
    elif facts.is_view and config.views != "full":
        wanted = "schema"
    if wanted == "full":
        size = files.bytes if files else host.estimated_bytes(frame)
        if size is not None and size > config.max_scan_bytes:
            text = (
                f"{node.relation} is recorded at depth schema: it has about {size:,} bytes, and "
                f"max_scan_bytes is {config.max_scan_bytes:,}"
            )
            return "schema", [text]
    return wanted, []


def _among(names: Iterable[str], columns: list[str]) -> list[str]:
    """The columns that are meant: Spark does not mind case, and a field stands for its column."""
    known = {column.casefold() for column in columns}
    wanted = {_meant(name, known) for name in names}
    return [column for column in columns if column.casefold() in wanted]


def _meant(name: str, known: set[str]) -> str:
    folded = name.casefold()
    return folded if folded in known else folded.partition(".")[0]


def _lost_marks(node: Node, marked: dict[str, list[str]], columns: list[str]) -> list[str]:
    """A mark that fits no column is a typo, and one of `pii` would uncover values."""
    known = {column.casefold() for column in columns}
    return [
        f"{node.relation} has no column {name!r}, which is marked as {mark}"
        for mark, names in marked.items()
        for name in names
        if _meant(name, known) not in known
    ]


def _shallow_identity(schema_hash: str, files: SourceFiles | None) -> tuple[str, str]:
    """Identity without the values: the file listing, else the schema alone."""
    if files is None:
        return sha256_hex(canonical_json([SCHEMA_ALGO, schema_hash])), SCHEMA_ALGO
    content = [LISTING_ALGO, schema_hash, files.fingerprint]
    return sha256_hex(canonical_json(content)), LISTING_ALGO
