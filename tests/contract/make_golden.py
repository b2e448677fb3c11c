"""Writes the golden files anew: `python -m tests.contract.make_golden`. Review them like code.

`metadata_sha.json` are manifests with the version that they must have for ever; `records/` are
stored records of format 1.0, byte for byte, that every later release must be able to read.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from dbt_snapshot_plugin.model.codec import SignedRecord, encode, sign, to_plain
from dbt_snapshot_plugin.model.events import Event
from dbt_snapshot_plugin.model.identity import metadata_sha
from dbt_snapshot_plugin.model.manifest import Manifest, Parent
from dbt_snapshot_plugin.store.events import Body
from dbt_snapshot_plugin.store.repository import PRODUCT, StoreFormat
from tests.factories import (
    ORDERS,
    clock,
    make_build,
    make_evidence,
    make_manifest,
)

GOLDEN = Path(__file__).parent / "golden"
RECORDS = GOLDEN / "records"
VERSIONS = GOLDEN / "metadata_sha.json"
KINDS: dict[str, type[msgspec.Struct]] = {
    "build_ended": Event,
    "build_started": Event,
    "evidence": Event,
    "manifest": Manifest,
    "store": StoreFormat,
}
_ID = "01a1f045-6baf-7843-af3d-00000000000{}"
_SHA = "ab" * 32


def fixed_manifest(**fields: Any) -> Manifest:
    values: dict[str, Any] = {"snapshot_id": _ID.format(1), "data_sha": "cd" * 32}
    return make_manifest(**{**values, **fields})


def versions() -> dict[str, Manifest]:
    """Manifests that differ in one identity field each."""
    parent = Parent(
        unique_id="model.shop.stg_orders",
        basis="captured",
        seq=3,
        snapshot_id=_ID.format(2),
        metadata_sha=_SHA,
        data_sha=_SHA,
    )
    shallow = Parent(
        unique_id="source.shop.raw.orders", basis="schema", seq=1, metadata_sha=_SHA, data_sha=_SHA
    )
    view = msgspec.structs.replace(parent, unique_id="model.shop.v", looked_through=True)
    loose = Parent(unique_id="model.shop.x", basis="unpinned", reason="it has no snapshot")
    return {
        "plain": fixed_manifest(),
        "no code, no stage": fixed_manifest(code_sha=None, pipeline_stage=None),
        "a message": fixed_manifest(message='neue Steuerregel — 10 €\n\t"quoted" \U0001f600'),
        "an empty message": fixed_manifest(message=""),
        "volatile and redacted columns": fixed_manifest(
            volatile_columns=["loaded_at", "batch"], redacted_columns=["email", "Email"]
        ),
        "parents of every basis": fixed_manifest(parents=[parent, shallow, view, loose]),
        "depth schema": fixed_manifest(
            depth="schema", hash_algo="file-listing-1", profile=None, num_rows=None
        ),
        "a view": fixed_manifest(materialization="view", source_type="view"),
    }


def records() -> dict[str, bytes]:
    started, ended = make_build(fixed_manifest(), minute=8.5, build_id=_ID.format(3))
    started = msgspec.structs.replace(started, build_id=_ID.format(3))
    evidence = make_evidence("cd" * 32, passed=False)
    bodies: dict[str, Body] = {
        "build_started": started,
        "build_ended": ended,
        "evidence": evidence,
    }
    made: dict[str, SignedRecord] = {
        "manifest": fixed_manifest(message="new tax rule"),
        "store": StoreFormat(product=PRODUCT),
    }
    for number, (name, body) in enumerate(bodies.items()):
        made[name] = Event(
            event_id=_ID.format(4 + number),
            env=ORDERS.env,
            unique_id=ORDERS.unique_id,
            written_at=clock(9.5),
            body=body,
        )
    return {name: encode(sign(record)) for name, record in made.items()}


def main() -> int:
    RECORDS.mkdir(parents=True, exist_ok=True)
    golden = [
        {"name": name, "metadata_sha": metadata_sha(manifest), "manifest": to_plain(manifest)}
        for name, manifest in versions().items()
    ]
    text = json.dumps(golden, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    VERSIONS.write_text(text, encoding="utf-8")
    for name, data in records().items():
        (RECORDS / f"{name}.json").write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
