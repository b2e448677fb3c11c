"""From table sums to the names that others pin: data_sha and schema_hash."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HASH_ALGO = "dbt-snapshot-rows-1-draft"


def _counted(text: str) -> bytes:
    raw = text.encode()
    return len(raw).to_bytes(8, "little") + raw


def data_sha(columns: Sequence[tuple[str, str]], rows: int, sums: tuple[int, int]) -> str:
    """SHA-256 over the algorithm, the ordered (name, type) list, the row count and both sums.

    Every part has a length in front or a fixed width, so no two tables share these bytes
    unless all parts are equal.
    """
    digest = hashlib.sha256(_counted(HASH_ALGO))
    digest.update(len(columns).to_bytes(8, "little"))
    for name, type_text in columns:
        digest.update(_counted(name) + _counted(type_text))
    digest.update(rows.to_bytes(8, "little"))
    for total in sums:
        digest.update((total % (1 << 128)).to_bytes(16, "little"))
    return digest.hexdigest()


def schema_hash(columns: Sequence[tuple[str, str]]) -> str:
    """SHA-256 of the canonical JSON `[[name, spark_type], …]`."""
    text = json.dumps([list(pair) for pair in columns], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
