"""`make demo`: the whole story on the example project, on embedded Spark.

Everything happens in .demo/ (made anew each time): a copy of example_project, its raw files, its
tables and its store. The commands run in this one process, so that Spark starts once; each is
printed the way it is typed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "example_project"
DEFAULT_HOME = ROOT / ".demo"
LEFTOVERS = shutil.ignore_patterns(
    "target",
    "logs",
    "raw",
    ".spark",
    ".dbt_snapshot",
    "dbt_packages",
    "uncommitted",
    "__pycache__",
)
# What of dbt's output a reader of the story needs; the rest is in logs/dbt.log.
SHOWN = frozenset({"RunResultError", "RunResultFailure", "StatsLine"})


class StoryError(Exception):
    """A step did not come out as the story tells it."""


class Demo:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = home / "coffee_shop"
        self._number = 0

    def prepare(self) -> None:
        """A fresh copy of the example, and an environment that points nowhere else."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(EXAMPLE, self.project, ignore=LEFTOVERS)
        macros = os.path.relpath(ROOT / "macros", self.project)
        (self.project / "packages.yml").write_text(f"packages:\n  - local: {macros}\n")
        os.environ.pop("COFFEE_HOME", None)  # the copy keeps everything to itself
        os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
        os.chdir(self.project)

    def chapter(self, title: str, text: str) -> None:
        self._number += 1
        print(f"\n{'=' * 100}\n{self._number}. {title}\n   {text}\n", flush=True)

    def script(self, name: str, *arguments: str, expect: int = 0) -> None:
        """One of the example's own scripts."""
        self._run(f"python scripts/{name}.py", arguments, self._load(name).main, expect)

    def dbt(self, *arguments: str) -> None:
        def invoke(given: Sequence[str]) -> int:
            from dbt.cli.main import dbtRunner

            return (
                0 if dbtRunner(callbacks=[show_event]).invoke(["--quiet", *given]).success else 1
            )

        self._run("dbt", arguments, invoke, 0)

    def snapshot(self, *arguments: str, expect: int = 0) -> None:
        from dbt_snapshot_plugin.cli import main

        self._run("dbt-snapshot", arguments, main, expect)

    def _run(
        self,
        program: str,
        arguments: Sequence[str],
        action: Callable[[Sequence[str]], int],
        expect: int,
    ) -> None:
        command = " ".join([program, *arguments])
        print(f"$ {command}", flush=True)
        began = time.monotonic()
        code = action(list(arguments))
        sys.stdout.flush()
        print(f"  (exit {code}, {time.monotonic() - began:.1f} s)\n", flush=True)
        if code != expect:
            raise StoryError(f"`{command}` ended with exit {code}, the story wants {expect}")

    def _load(self, name: str) -> ModuleType:
        path = self.project / "scripts" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"coffee_{name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up there
        spec.loader.exec_module(module)
        return module


def show_event(event: Any) -> None:
    name, text = event.info.name, event.info.msg.strip()
    if name in SHOWN or (name == "Note" and text.startswith("dbt-snapshot")):
        print(f"  {text}", flush=True)


def tell_of_builds(demo: Demo) -> None:
    demo.chapter(
        "The first run",
        "A coffee shop's raw files become tables; every model leaves a dataset snapshot.",
    )
    demo.script("make_data")
    demo.dbt("deps")
    demo.dbt("seed")
    demo.dbt("run")
    demo.snapshot("list")

    demo.chapter(
        "A rebuild that changes nothing",
        "Every table is written anew, yet no content changes: no version is minted.",
    )
    demo.dbt("run")


def tell_of_quality(demo: Demo) -> None:
    demo.chapter(
        "Is it good? Great Expectations says yes",
        "Its results become evidence, bound to the very data that they judged.",
    )
    demo.script("run_gx")
    demo.snapshot("qa", "ingest")
    demo.snapshot("gate", "--allow-unchecked")

    demo.chapter(
        "A change upstream",
        "Two more days arrive. What moved gets a new version, what did not keeps its own;\n"
        "   the verdicts were about the old data, so the new data has none.",
    )
    demo.script("make_data", "--days", "60")
    demo.dbt("run")
    demo.snapshot("list", "fct_orders")
    demo.snapshot("gate", "--allow-unchecked", expect=1)

    demo.chapter(
        "A faulty delivery",
        "A till sends orders without customers and with negative prices. dbt is content,\n"
        "   Great Expectations is not, and the gate turns that into exit 1.",
    )
    demo.script("make_data", "--days", "60", "--break")
    demo.dbt("run")
    demo.script("run_gx", expect=1)
    demo.snapshot("qa", "ingest")
    demo.snapshot("gate", "--allow-unchecked", expect=1)

    demo.chapter(
        "Look at it, and check that nothing was tampered with",
        "The model's page in dbt docs shows QA state, rows and snapshot.",
    )
    demo.dbt("docs", "generate", "--static")
    demo.snapshot("show", "fct_orders")
    demo.snapshot("validate")


def close(demo: Demo) -> None:
    page = demo.project / "target" / "static_index.html"
    store = demo.project / ".dbt_snapshot"
    program = ROOT / ".venv" / "bin" / "dbt-snapshot"
    print(
        "=" * 100 + "\nThe story is told. What to look at now:\n"
        f"  the docs page   {page}  (open it, choose fct_orders)\n"
        f"  the store       {store}  (plain JSON, explained in docs/store.md)\n"
        f"  by yourself     cd {demo.project} && {program} list fct_orders\n"
        "  next            README.md: your own project in three steps"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Tell the whole story on the example project.")
    parser.add_argument("--home", type=Path, default=DEFAULT_HOME, help="made anew each time")
    demo = Demo(parser.parse_args(argv).home.absolute())
    demo.prepare()
    try:
        tell_of_builds(demo)
        tell_of_quality(demo)
    except StoryError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    close(demo)
    return 0


if __name__ == "__main__":
    sys.exit(main())
