"""What a start may load; how long it takes is measured by benchmarks/bench_startup.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dbt_snapshot_plugin.store.local import LocalBackend
from tests.factories import shop_store

HOSTS = {"pyspark", "py4j", "dbt", "dbt_common", "dbt_adapters", "great_expectations"}
HEAVY = {"pandas", "pyarrow", "datasketch", "numpy", "obstore"}


def loaded(program: str, *arguments: str) -> set[str]:
    """The top names of all modules that a program loads in a fresh process."""
    report = "import sys; print('loaded', *{m.partition('.')[0] for m in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{report}", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    last = done.stdout.splitlines()[-1].split()
    assert last[0] == "loaded"
    return set(last[1:])


def test_importing_the_package_loads_nothing() -> None:
    """dbt does it at every command."""
    found = loaded("import dbt_snapshot_plugin")
    assert found & (HOSTS | HEAVY | {"msgspec", "click", "spark_profiler"}) == set()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("store")
    shop_store(LocalBackend(root))
    return root


RUN = "import sys; from dbt_snapshot_plugin.cli.app import run; assert run(sys.argv[1:]) == 0"


@pytest.mark.parametrize(
    "command",
    [["list"], ["list", "fct_orders"], ["show", "fct_orders"], ["validate"]],
    ids=" ".join,
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_reading_loads_no_host_and_no_array_library(
    root: Path, command: list[str], form: str
) -> None:
    found = loaded(RUN, *command, "--root", str(root), "--output", form)
    assert "dbt_snapshot_plugin" in found
    assert found & (HOSTS | HEAVY) == set()


def test_help_loads_no_codec() -> None:
    assert loaded(RUN, "--help") & (HOSTS | HEAVY | {"msgspec"}) == set()


def test_open_store_loads_no_host(root: Path) -> None:
    program = f"import dbt_snapshot_plugin as p; p.open_store({str(root)!r}).list()"
    assert loaded(program) & (HOSTS | HEAVY) == set()
