"""Projects for the tests that run dbt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.functional.project import DbtProject

MakeProject = Callable[..., DbtProject]


@pytest.fixture(scope="module")
def make_project(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeProject]:
    """Makes dbt projects with a schema of their own, dropped when the module is done."""
    made: list[DbtProject] = []

    def make(files: dict[str, str], **settings: Any) -> DbtProject:
        directory: Path = tmp_path_factory.mktemp("project")
        project = DbtProject(directory / "shop", f"schema_{directory.name.replace('-', '_')}")
        project.vars = settings
        project.write(files)
        project.prepare()
        made.append(project)
        return project

    yield make
    for project in made:
        spark.sql(f"drop schema if exists {project.schema} cascade")
