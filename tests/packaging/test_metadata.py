"""What pyproject.toml promises to those who install the package."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
ROOT = Path(__file__).resolve().parents[2]
EXTRAS = {"dbt", "spark", "gx", "remote", "languages", "all"}
HOSTS = {"dbt-core", "dbt-spark", "great-expectations", "pyspark", "obstore"}


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    loaded: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return loaded


def name_of(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None
    return match.group().lower()


def test_the_extras_are_the_designed_ones(pyproject: dict[str, Any]) -> None:
    assert set(pyproject["project"]["optional-dependencies"]) == EXTRAS


def test_all_brings_every_other_extra(pyproject: dict[str, Any]) -> None:
    (everything,) = pyproject["project"]["optional-dependencies"]["all"]
    assert set(re.findall(r"\w+", everything.split("[")[1])) == EXTRAS - {"all"}


def test_the_base_brings_no_host(pyproject: dict[str, Any]) -> None:
    assert not {name_of(need) for need in pyproject["project"]["dependencies"]} & HOSTS


def test_every_requirement_has_a_lower_bound(pyproject: dict[str, Any]) -> None:
    project = pyproject["project"]
    needs = [*project["dependencies"]]
    for extra in EXTRAS - {"all"}:
        needs += project["optional-dependencies"][extra]
    assert [need for need in needs if ">=" not in need] == []


def test_every_direct_requirement_is_pinned_for_ci(pyproject: dict[str, Any]) -> None:
    project = pyproject["project"]
    needs = [*project["dependencies"], *pyproject["dependency-groups"]["dev"]]
    for extra in EXTRAS - {"all"}:
        needs += project["optional-dependencies"][extra]
    pinned = {
        name_of(line)
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    }
    assert {name_of(need) for need in needs} <= pinned
    assert project["name"] not in pinned
