"""The published JSON Schemas; the files beside this one are made from the types by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from dbt_snapshot_plugin.model.codec import FORMAT_VERSION, SignedRecord
from dbt_snapshot_plugin.model.events import Event
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.qa import QaStatus
from spark_profiler.model import Profile

DIRECTORY = Path(__file__).parent
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TITLES = {
    "manifest": "A dataset snapshot's manifest, as it is stored",
    "event": "An event beside a dataset's history, as it is stored",
    "profile": "A profile, as it is stored and as `profile --output json` prints it",
    "snapshot": "A dataset snapshot as people get it: manifest, profile and QA joined",
}
_REFERENCES = "#/$defs/{name}"
_SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def build_schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its name, made from the types."""
    types: dict[str, type[msgspec.Struct]] = {
        "manifest": Manifest,
        "event": Event,
        "profile": Profile,
    }
    made = {name: _inlined(kind) for name, kind in types.items()}
    made["snapshot"] = _joined()
    return {
        name: {
            "$schema": _DIALECT,
            "$id": f"urn:dbt-snapshot:{name}:{FORMAT_VERSION}",
            **body,
            "title": _TITLES[name],
        }
        for name, body in made.items()
    }


def schema_files() -> dict[str, str]:
    """File name and content of each schema."""
    return {
        f"{name}.json": json.dumps(schema, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        for name, schema in build_schemas().items()
    }


def load_schema(name: str) -> dict[str, Any]:
    """A published schema, as it lies in the package."""
    found: dict[str, Any] = json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _inlined(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The record itself at the top, the types that it uses under `$defs`."""
    _, parts = msgspec.json.schema_components([kind], ref_template=_REFERENCES)
    top = parts.pop(kind.__name__)
    if issubclass(kind, SignedRecord):  # `sign` fills these in, so a stored record has them
        sealed = {"format_version": {"type": "string"}, "record_sha256": _SHA256}
        top["properties"].update(sealed)
        top["required"] = sorted({*top["required"], *sealed})
    return {**top, "$defs": parts}


def _joined() -> dict[str, Any]:
    """The manifest's fields over the profile's, as `show` joins them."""
    manifest, profile, status = _inlined(Manifest), _inlined(Profile), _inlined(QaStatus)
    properties = {
        **profile["properties"],
        **manifest["properties"],
        "transform_description": {"type": "string"},
        "qa_status": {"$ref": "#/$defs/QaStatus"},
    }
    used = {**profile["$defs"], **manifest["$defs"], **status["$defs"]}
    return {
        "type": "object",
        "properties": properties,
        "required": sorted({*manifest["required"], "qa_status"}),
        "additionalProperties": False,
        "$defs": used,
    }
