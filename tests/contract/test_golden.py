"""What was written once must have the same version, and be readable, for ever."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest

from dbt_snapshot_plugin.model.codec import decode, encode
from dbt_snapshot_plugin.model.identity import metadata_sha
from dbt_snapshot_plugin.model.manifest import Manifest
from tests.contract.make_golden import KINDS, RECORDS, VERSIONS, records, versions

GOLDEN: list[dict[str, Any]] = json.loads(VERSIONS.read_text(encoding="utf-8"))


def by_hand(manifest: dict[str, Any]) -> str:
    """The version by the words of the design, with nothing of the product's code."""
    parents = [
        {"unique_id": p["unique_id"]}
        | ({"metadata_sha": p["metadata_sha"]} if p["basis"] == "captured" else {})
        for p in sorted(manifest["parents"], key=lambda p: p["unique_id"])
        if not p.get("looked_through")
    ]
    identity = {
        "unique_id": manifest["unique_id"],
        "data_sha": manifest["data_sha"],
        "hash_algo": manifest["hash_algo"],
        "schema": [[c["name"], c["spark_type"]] for c in manifest["columns"]],
        "volatile_columns": sorted(manifest["volatile_columns"]),
        "redacted_columns": sorted(manifest["redacted_columns"]),
        "code_sha": manifest["code_sha"],
        "materialization": manifest["materialization"],
        "pipeline_stage": manifest.get("pipeline_stage"),
        "parents": parents,
    }
    if "message" in manifest:
        identity["message"] = manifest["message"]
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("golden", GOLDEN, ids=[entry["name"] for entry in GOLDEN])
def test_the_version_is_what_it_was(golden: dict[str, Any]) -> None:
    manifest = msgspec.convert(golden["manifest"], Manifest)
    assert metadata_sha(manifest) == golden["metadata_sha"] == by_hand(golden["manifest"])


def test_every_golden_version_is_another_one() -> None:
    assert len({entry["metadata_sha"] for entry in GOLDEN}) == len(GOLDEN)
    assert [entry["name"] for entry in GOLDEN] == list(versions())


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_record_of_format_1_0_is_read_and_written_the_same(name: str) -> None:
    data = (RECORDS / f"{name}.json").read_bytes()
    record: Any = decode(data, KINDS[name], name)
    assert encode(record) == data


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"manifest"}))
def test_the_same_content_gives_the_same_bytes(name: str) -> None:
    assert records()[name] == (RECORDS / f"{name}.json").read_bytes()
