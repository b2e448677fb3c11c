"""The wheel, as a consumer gets it: built, installed into an empty environment, started there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = {"dbt", "spark", "gx", "remote", "languages", "all"}

pytestmark = pytest.mark.slow


def run(*command: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def empty_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and its base requirements; uv where this Python has no pip."""
    venv = tmp_path_factory.mktemp("consumer") / "venv"
    what = ["-c", str(ROOT / "constraints.txt"), str(wheel)]
    if importlib.util.find_spec("ensurepip"):
        run(sys.executable, "-m", "venv", venv)
        run(venv / "bin" / "python", "-m", "pip", "install", "--quiet", *what)
    else:
        uv = shutil.which("uv")
        assert uv is not None, "neither ensurepip nor uv is there to make an environment with"
        run(uv, "venv", "--python", sys.executable, venv)
        run(uv, "pip", "install", "--python", venv / "bin" / "python", *what)
    return venv


def test_both_packages_are_typed(names: list[str]) -> None:
    assert {"dbt_snapshot_plugin/py.typed", "spark_profiler/py.typed"} <= set(names)


def test_the_dbt_package_is_inside(names: list[str]) -> None:
    shipped = {name for name in names if name.startswith("dbt_snapshot_plugin/dbt_package/")}
    source = {
        f"dbt_snapshot_plugin/dbt_package/{path.relative_to(ROOT / 'macros').as_posix()}"
        for path in (ROOT / "macros").rglob("*")
        if path.is_file()
    }
    assert "dbt_snapshot_plugin/dbt_package/dbt_project.yml" in shipped
    assert shipped == source


def test_nothing_else_is_inside(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "dbt_snapshot_plugin",
        "spark_profiler",
    }
    assert not [name for name in names if name.endswith((".pyc", ".log"))]


def test_the_metadata_names_the_designed_extras(wheel: Path, names: list[str]) -> None:
    (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
    with zipfile.ZipFile(wheel) as archive:
        headers = HeaderParser().parsestr(archive.read(metadata).decode())
    assert headers["Name"] == "dbt-snapshot-plugin"
    assert headers["License-Expression"] == "Apache-2.0"
    assert set(headers.get_all("Provides-Extra") or []) == EXTRAS


def test_help_runs_in_an_empty_environment(empty_environment: Path) -> None:
    text = run(empty_environment / "bin" / "dbt-snapshot", "--help", PYTHONPATH="").stdout
    for verb in ("capture", "gate", "list", "profile", "qa", "show", "validate"):
        assert verb in text


@pytest.mark.parametrize("host", ["pyspark", "dbt", "great_expectations", "obstore", "pandas"])
def test_no_host_comes_with_the_base(empty_environment: Path, host: str) -> None:
    code = f"import importlib.util as u; raise SystemExit(u.find_spec({host!r}) is not None)"
    run(empty_environment / "bin" / "python", "-c", code, PYTHONPATH="")
