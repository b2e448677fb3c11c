"""Settings of one capture, from four places: CLI > environment > model meta > project vars."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from dbt_snapshot_plugin.model.codec import Record
from dbt_snapshot_plugin.model.errors import ConfigError
from dbt_snapshot_plugin.model.fields import Count, Name

GIB_100 = 100 * 1024**3
ENVIRONMENT = "environment"
PREFIX = "DBT_SNAPSHOT_"

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
# Keys that name the whole project's store and env: no model can have one of its own.
PROJECT_KEYS = frozenset({"root", "env"})
_HELP = "docs/configuration.md says what it takes"
_YES, _NO = frozenset({"true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off"})


class Config(Record, frozen=True, kw_only=True):
    """The resolved settings for one relation."""

    enabled: bool = True
    env: Name | None = None
    targets: list[str] = []
    trigger: Literal["hook", "model"] = "hook"
    on_error: Literal["warn", "fail"] = "warn"
    on_empty: Literal["allow", "warn", "error", "skip"] = "warn"
    depth: Literal["full", "schema"] = "full"
    max_scan_bytes: Count = GIB_100
    views: Literal["full", "schema", "off"] = "full"
    redact: list[str] = []
    volatile: list[str] = []
    sources: Literal["schema", "full", "off"] = "schema"
    stage_rules: dict[str, str] = {}
    high_null: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5


_TYPES = {field.name: field.type for field in msgspec.structs.fields(Config)}
KEYS = tuple(_TYPES)
_KNOWN = sorted({*KEYS, *RESERVED, *PROJECT_KEYS})

Layer = tuple[str, Mapping[str, Any]]
"""Settings of one place, with the name that an error shows."""


def resolve_config(layers: Iterable[Layer]) -> Config:
    """Merges the layers, strongest first; what one of them gets wrong raises ConfigError.

    `redact` adds up: a model that names one column must not uncover those of the project.
    """
    merged: dict[str, Any] = {}
    redact: list[str] = []
    for name, layer in layers:
        for key, value in layer.items():
            _refuse_unknown(name, key)
            if key not in KEYS:
                continue
            checked = _checked(name, key, value)  # also where a stronger layer hides it
            merged.setdefault(key, checked)
            redact += checked if key == "redact" else []
    return Config(**{**merged, "redact": sorted(set(redact))})


def usable_config(layers: Iterable[Layer]) -> Config:
    """What is right of layers that are wrong somewhere: a mistake must not change the rest."""
    return resolve_config(
        [
            (name, {key: value for key, value in layer.items() if _is_right(name, key, value)})
            for name, layer in layers
        ]
    )


def _is_right(name: str, key: Any, value: Any) -> bool:
    try:
        resolve_config([(name, {key: value})])
    except ConfigError:
        return False
    return True


def settings_layer(name: str, found: Any) -> Layer:
    """What a user wrote under `dbt_snapshot` in vars or meta; nothing at all is fine."""
    if found is None:
        return name, {}
    if not isinstance(found, Mapping):
        raise ConfigError(
            f"dbt_snapshot takes settings, each under its name, not {found!r}",
            where=name,
            next_step="write them below it, such as `dbt_snapshot: {enabled: false}`",
        )
    return name, found


def model_layer(unique_id: str, found: Any) -> Layer:
    """`meta.dbt_snapshot` of one node."""
    name, layer = settings_layer(f"meta.dbt_snapshot of {unique_id}", found)
    for key in sorted(PROJECT_KEYS & layer.keys()):
        raise ConfigError(
            f"{key} is one for the whole project, no model can have its own",
            where=name,
            next_step=f"set it in vars.dbt_snapshot or as {PREFIX}{key.upper()}",
        )
    return name, layer


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """`DBT_SNAPSHOT_<KEY>` of the environment; an empty one counts as not set."""
    keys = (*KEYS, *sorted(RESERVED))
    found = {key: environ.get(PREFIX + key.upper(), "").strip() for key in keys}
    return ENVIRONMENT, {key: text for key, text in found.items() if text}


def not_acted_on(layers: Iterable[Layer]) -> list[str]:
    """Settings that are known but that this version does nothing with: worth one warning."""
    return sorted({str(key) for _, layer in layers for key in layer if key in RESERVED})


def _refuse_unknown(name: str, key: Any) -> None:
    if key in _KNOWN:
        return
    close = difflib.get_close_matches(str(key), _KNOWN, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known settings: {', '.join(_KNOWN)}"
    raise ConfigError(f"unknown setting {key!r}", where=name, next_step=hint)


def _checked(name: str, key: str, value: Any) -> Any:
    where = PREFIX + key.upper() if name == ENVIRONMENT else name
    given = _from_text(key, value) if name == ENVIRONMENT else value
    try:
        return msgspec.convert(given, _TYPES[key])
    except msgspec.ValidationError as error:
        raise _wrong(key, value, where, error) from None


def _wrong(key: str, value: Any, where: str, error: Exception) -> ConfigError:
    kind = _TYPES[key]
    if get_origin(kind) is Literal:
        choices = [str(choice) for choice in get_args(kind)]
        close = difflib.get_close_matches(str(value), choices, n=1)
        what = f"{key} is {value!r}, which is none of {', '.join(choices)}"
        return ConfigError(
            what, where=where, next_step=f"did you mean {close[0]}?" if close else _HELP
        )
    reason = str(error).partition(" - at `$")[0].replace("`", "")
    return ConfigError(f"{key} is {value!r}: {reason}", where=where, next_step=_HELP)


def _from_text(key: str, text: str) -> Any:
    """An environment variable is text; lists are comma-separated, numbers and mappings JSON."""
    kind = _TYPES[key]
    if kind is bool and text.lower() in _YES | _NO:
        return text.lower() in _YES
    if kind == list[str]:
        return [part.strip() for part in text.split(",") if part.strip()]
    if key == "env" or get_origin(kind) is Literal:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text  # of the wrong type for every setting that is left, so it is refused
