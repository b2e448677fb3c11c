"""Settings of one capture, from four places: CLI > environment > model meta > project vars."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from dbt_snapshot_plugin.model.codec import Record
from dbt_snapshot_plugin.model.errors import ConfigError

GIB_100 = 100 * 1024**3

# Keys of the design that this version does not act on yet: they are accepted, and it says so.
RESERVED = frozenset(
    [
        "data",
        "copy_pii",
        "source_hash",
        "docs",
        "publish",
        "qa",
        "drift",
        "version",
        "auto_increment",
        "provisional_suffix",
        "lake",
        "limits",
        "archive_path",
    ]
)
# Keys that are read before any model is known, by their own code.
PROJECT_KEYS = frozenset({"root"})


class Config(Record, frozen=True, kw_only=True):
    """The resolved settings for one relation."""

    enabled: bool = True
    env: str | None = None
    targets: list[str] = []
    trigger: Literal["hook", "model"] = "hook"
    on_error: Literal["warn", "fail"] = "warn"
    on_empty: Literal["allow", "warn", "error", "skip"] = "warn"
    depth: Literal["full", "schema"] = "full"
    max_scan_bytes: int = GIB_100
    views: Literal["full", "schema", "off"] = "full"
    redact: list[str] = []
    volatile: list[str] = []
    sources: Literal["schema", "full", "off"] = "schema"
    stage_rules: dict[str, str] = {}
    high_null: float = 0.5


KEYS = tuple(field.name for field in msgspec.structs.fields(Config))


def resolve_config(layers: list[tuple[str, Mapping[str, Any]]]) -> Config:
    """Merges the layers, strongest first; each comes with the name that an error shows."""
    merged: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name, layer in layers:
        _refuse_unknown(name, layer)
        for key, value in layer.items():
            if key not in merged and key in KEYS:
                merged[key] = _from_text(key, value) if name == "environment" else value
                origin[key] = name
    try:
        return msgspec.convert(merged, Config)
    except msgspec.ValidationError as error:
        key = str(error).partition("$.")[2].split("`")[0].split("[")[0]
        raise ConfigError(
            f"setting {key or 'of dbt_snapshot'}: {error}",
            where=origin.get(key),
            next_step="see docs/configuration.md for the values it takes",
        ) from None


def environment_layer(environ: Mapping[str, str]) -> dict[str, Any]:
    """`DBT_SNAPSHOT_<KEY>` of the environment, only for keys that exist."""
    prefix = "DBT_SNAPSHOT_"
    return {key: environ[prefix + key.upper()] for key in KEYS if prefix + key.upper() in environ}


def not_acted_on(layers: list[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Settings that are known but that this version does nothing with: worth one warning."""
    return sorted({str(key) for _, layer in layers for key in layer if key in RESERVED})


def _refuse_unknown(name: str, layer: Mapping[str, Any]) -> None:
    for key in layer:
        if key in KEYS or key in PROJECT_KEYS or key in RESERVED:
            continue
        close = difflib.get_close_matches(str(key), KEYS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known settings: {', '.join(KEYS)}"
        raise ConfigError(f"unknown setting {key!r}", where=name, next_step=hint)


def _from_text(key: str, value: Any) -> Any:
    """An environment variable is text; lists are comma-separated, mappings are JSON."""
    if not isinstance(value, str):
        return value
    kind = next(f.type for f in msgspec.structs.fields(Config) if f.name == key)
    if kind == list[str]:
        return [part.strip() for part in value.split(",") if part.strip()]
    if kind is bool and value.lower() in {"true", "1", "yes", "on", "false", "0", "no", "off"}:
        return value.lower() in {"true", "1", "yes", "on"}
    if kind in {int, float} or kind == dict[str, str]:
        try:
            return msgspec.json.decode(value.encode())
        except msgspec.DecodeError:
            return value
    return value
