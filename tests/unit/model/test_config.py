"""Settings: four places, one precedence, and an error that says what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_snapshot_plugin.model.config import (
    KEYS,
    RESERVED,
    Config,
    Layer,
    environment_layer,
    model_layer,
    not_acted_on,
    resolve_config,
    settings_layer,
)
from dbt_snapshot_plugin.model.errors import ConfigError

_KEYS = """enabled env targets trigger on_error on_empty data copy_pii depth max_scan_bytes views
redact volatile sources stage_rules source_hash high_null docs publish qa drift version
auto_increment provisional_suffix lake limits archive_path"""
DESIGN = _KEYS.split()


def test_the_keys_are_those_of_the_design() -> None:
    assert {*KEYS, *RESERVED} == set(DESIGN)
    assert set(KEYS).isdisjoint(RESERVED)


def test_the_stronger_place_wins() -> None:
    environment = environment_layer({"DBT_SNAPSHOT_DEPTH": "schema"})
    model = model_layer("model.a.b", {"depth": "full", "on_error": "fail"})
    project = settings_layer("vars", {"on_error": "warn", "views": "off", "root": "x"})
    config = resolve_config([environment, model, project])
    assert (config.depth, config.on_error, config.views) == ("schema", "fail", "off")
    assert config.on_empty == Config().on_empty


def test_redact_adds_up() -> None:
    layers: list[Layer] = [("model", {"redact": ["b"]}), ("vars", {"redact": ["a", "b"]})]
    assert resolve_config(layers).redact == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("ENABLED", "False", False),
        ("ENABLED", " on ", True),
        ("TARGETS", "prod, ci", ["prod", "ci"]),
        ("MAX_SCAN_BYTES", "1000", 1000),
        ("HIGH_NULL", "0.25", 0.25),
        ("STAGE_RULES", '{"bronze": "raw"}', {"bronze": "raw"}),
        ("ENV", "123", "123"),
        ("ENV", "", None),
    ],
)
def test_the_environment_is_text(name: str, text: str, value: Any) -> None:
    config = resolve_config([environment_layer({f"DBT_SNAPSHOT_{name}": text})])
    assert getattr(config, name.lower()) == value


def test_other_variables_mean_something_else() -> None:
    found = environment_layer({"DBT_SNAPSHOT_ROOT": "x", "DBT_SNAPSHOT_DEBUG": "1", "DEPTH": "y"})
    assert found == ("environment", {})


WRONG: list[tuple[Layer, str, str]] = [
    (("vars.dbt_snapshot", {"on_eror": "fail"}), "unknown setting 'on_eror'", "on_error?"),
    (("vars.dbt_snapshot", {"achive_path": "x"}), "unknown setting", "archive_path?"),
    (("vars.dbt_snapshot", {"zzz": 1}), "unknown setting 'zzz'", "known settings: archive_path"),
    (("vars.dbt_snapshot", {"on_error": "fial"}), "none of warn, fail", "did you mean fail?"),
    (("vars.dbt_snapshot", {"depth": 3}), "depth is 3, which is none of full, schema", "config"),
    (("vars.dbt_snapshot", {"targets": "prod"}), "targets is 'prod': Expected array", "config"),
    (("vars.dbt_snapshot", {"enabled": "false"}), "Expected bool, got str", "configuration.md"),
    (("vars.dbt_snapshot", {"max_scan_bytes": -1}), "Expected int >= 0", "configuration.md"),
    (("vars.dbt_snapshot", {"high_null": 2}), "Expected float <= 1.0", "configuration.md"),
    (("vars.dbt_snapshot", {"env": ""}), "length >= 1", "configuration.md"),
    (("vars.dbt_snapshot", {"redact": ["a", 1]}), "Expected str, got int", "configuration.md"),
    (environment_layer({"DBT_SNAPSHOT_ENABLED": "maybe"}), "is 'maybe': Expected bool", "config"),
    (environment_layer({"DBT_SNAPSHOT_HIGH_NULL": "lots"}), "is 'lots'", "configuration.md"),
]


@pytest.mark.parametrize(("layer", "what", "step"), WRONG, ids=lambda value: str(value)[:40])
def test_what_is_wrong_and_what_to_write(layer: Layer, what: str, step: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_config([("strong", {}), layer])
    assert what in caught.value.what
    assert step in (caught.value.next_step or "")
    assert caught.value.where in {
        "vars.dbt_snapshot",
        "DBT_SNAPSHOT_ENABLED",
        "DBT_SNAPSHOT_HIGH_NULL",
    }


def test_a_wrong_value_is_refused_even_where_it_is_hidden() -> None:
    with pytest.raises(ConfigError):
        resolve_config([("model", {"depth": "full"}), ("vars", {"depth": "deep"})])


@pytest.mark.parametrize("found", [True, "off", ["a"]])
def test_settings_stand_below_the_name(found: Any) -> None:
    with pytest.raises(ConfigError, match="takes settings, each under its name"):
        settings_layer("vars.dbt_snapshot", found)


@pytest.mark.parametrize("key", ["env", "root"])
def test_a_model_has_no_store_and_no_env_of_its_own(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} is one for the whole project") as caught:
        model_layer("model.a.b", {key: "x"})
    assert caught.value.where == "meta.dbt_snapshot of model.a.b"


def test_what_is_not_acted_on_is_known() -> None:
    layers = [environment_layer({"DBT_SNAPSHOT_DATA": "copy"}), ("vars", {"qa": {}, "depth": 1})]
    assert not_acted_on(layers) == ["data", "qa"]
    resolve_config([("vars", {"data": "copy", "lake": {"root": "x"}})])
