"""dbt's vars and flags, as dbt itself resolves them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dbt_snapshot_plugin.bridges.dbt_host import DbtTarget, load_target, partial_flag
from dbt_snapshot_plugin.model.errors import HostError, UsageError


def target(**fields: Any) -> DbtTarget:
    values: dict[str, Any] = {
        "project_name": "shop",
        "project_dir": Path("/shop"),
        "target_dir": Path("/shop/target"),
        "profiles_dir": None,
        "name": "dev",
        "schema": "ann",
        "adapter": "spark",
        "method": "session",
        "parameters": {},
        "project_vars": {},
        "cli_vars": {},
        "package_vars": {},
    }
    return DbtTarget(**{**values, **fields})


def test_each_schema_is_an_env_of_its_own() -> None:
    assert target().default_env == "dev.ann"


def test_vars_from_the_strongest_place() -> None:
    package = {"x": 5, "pkg": {"x": 4}}
    scopes: list[dict[str, Any]] = [
        {"cli_vars": {"x": 1}},
        {"project_vars": {"pkg": {"x": 2}, "x": 3}},
        {"project_vars": {"x": 3}},
        {"package_vars": {"pkg": package}},
        {"package_vars": {"pkg": {"x": 5}}},
    ]
    values = [target(**scope).lookup_var("pkg", "x") for scope in scopes]
    assert values == [1, 2, 3, 4, 5]
    merged = target(cli_vars={"y": 0}, project_vars={"x": 3}, package_vars={"pkg": package})
    assert merged.lookup_var("pkg", "x") == 3
    assert merged.lookup_var("other", "pkg") is None


@pytest.mark.parametrize("found", [None, {"depth": "schema"}, "wrong"])
def test_settings_are_as_they_were_written(found: Any) -> None:
    written = {} if found is None else {"dbt_snapshot": found}
    assert target(project_vars={"shop": written}).settings == found


@pytest.mark.parametrize(
    ("flags", "flag"),
    [
        ({"empty": True}, "--empty"),
        ({"sample": "3 days"}, "--sample"),
        ({"empty": False, "sample": None}, None),
        ({}, None),
    ],
    ids=str,
)
def test_a_part_on_purpose(flags: dict[str, Any], flag: str | None) -> None:
    assert partial_flag(flags) == flag


def test_a_directory_that_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no dbt_project\.yml"):
        load_target(tmp_path)


PROJECT = "name: shop\nversion: '1'\nprofile: shop\n"


@pytest.mark.parametrize(
    ("project", "profile", "target_name", "said"),
    [
        (PROJECT, None, None, "profile named 'shop'"),
        (PROJECT, "other: {}\n", None, "shop"),
        (PROJECT, "shop: {target: dev, outputs: {dev: {type: spark}}}", "prod", "prod"),
        (PROJECT, "shop: {target: dev, outputs: {dev: {type: nosuch}}}", None, "nosuch"),
        ("name: [", None, None, "Syntax error"),
        (PROJECT + "models: {{ env_var('NOT_SET') }}", None, None, ""),
    ],
)
def test_a_project_that_dbt_can_not_load(
    tmp_path: Path, project: str, profile: str | None, target_name: str | None, said: str
) -> None:
    (tmp_path / "dbt_project.yml").write_text(project)
    if profile is not None:
        (tmp_path / "profiles.yml").write_text(profile)
    with pytest.raises(HostError, match="dbt can't load the project") as caught:
        load_target(tmp_path, profiles_dir=str(tmp_path), target=target_name)
    assert said in caught.value.what
    assert "\n" not in caught.value.what
    assert "dbt debug" in (caught.value.next_step or "")


def test_a_profiles_directory_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text(PROJECT)
    with pytest.raises(HostError, match="does not exist"):
        load_target(tmp_path, profiles_dir=str(tmp_path / "gone"))


def test_without_dbt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dbt_project.yml").write_text(PROJECT)
    monkeypatch.setitem(sys.modules, "dbt.cli.flags", None)
    with pytest.raises(HostError, match="dbt can't be imported") as caught:
        load_target(tmp_path)
    assert caught.value.next_step == "pip install 'dbt-snapshot-plugin[dbt]'"
