"""A small dbt project on disk, run in this process on the tests' Spark session."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dbt_snapshot_plugin.model.events import Build, BuildEnded
from dbt_snapshot_plugin.ops.open_store import Store, open_store
from tests.conftest import ROOT, SPARK_SETTINGS

HOOK = "{{ dbt_snapshot.profile() }}"


@dataclass
class Outcome:
    """What one dbt command came to."""

    success: bool
    results: dict[str, str]
    """unique_id -> status"""
    notes: list[str]
    """The lines that the plugin printed."""
    messages: dict[str, str] = field(default_factory=dict)
    value: Any = None
    """dbt's own result: a manifest, a list of names, …"""

    def note(self, part: str) -> str:
        """The one line with this part in it."""
        found = [line for line in self.notes if part in line]
        assert len(found) == 1, f"{part!r} in {self.notes}"
        return found[0]


class DbtProject:
    def __init__(self, directory: Path, schema: str) -> None:
        self.directory = directory
        self.schema = schema
        self.root = directory / ".dbt_snapshot"
        self.vars: dict[str, Any] = {}
        self.hook = True
        self.persist_docs = False
        directory.mkdir(parents=True, exist_ok=True)

    @property
    def env(self) -> str:
        return f"dev.{self.schema}"

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def configure(self, **settings: Any) -> None:
        """Replaces `vars.dbt_snapshot`."""
        self.vars = settings
        self._write_project()

    def _write_project(self) -> None:
        hook: dict[str, Any] = {"+post-hook": HOOK} if self.hook else {}
        if self.persist_docs:
            hook["+persist_docs"] = {"relation": True, "columns": True}
        project = {
            "name": "shop",
            "version": "1.0.0",
            "profile": "shop",
            "flags": {"send_anonymous_usage_stats": False},
            "vars": {"dbt_snapshot": self.vars} if self.vars else {},
            "models": {"shop": {"+file_format": "parquet", **hook}},
            "seeds": {"shop": {"+file_format": "parquet", **hook}},
            "snapshots": {"shop": {"+file_format": "parquet", **hook}},
        }
        target = {
            "type": "spark",
            "method": "session",
            "host": "NA",
            "schema": self.schema,
            "threads": 2,
            "server_side_parameters": {k: str(v) for k, v in SPARK_SETTINGS.items()},
        }
        self.write(
            {
                "dbt_project.yml": yaml.safe_dump(project),
                "profiles.yml": yaml.safe_dump(
                    {"shop": {"target": "dev", "outputs": {"dev": target}}}
                ),
                "packages.yml": yaml.safe_dump({"packages": [{"local": str(ROOT / "macros")}]}),
            }
        )

    def prepare(self) -> None:
        self._write_project()
        assert self.invoke("deps").success

    def invoke(
        self, *arguments: str, environ: Mapping[str, str] | None = None, manifest: Any = None
    ) -> Outcome:
        """One dbt command; what it prints goes to pytest's capture."""
        from dbt.cli.main import dbtRunner

        outcome = Outcome(False, {}, [])

        def listen(event: Any) -> None:
            if event.info.name == "Note" and event.info.msg.startswith("dbt-snapshot"):
                outcome.notes.append(event.info.msg)

        where = ["--project-dir", str(self.directory), "--profiles-dir", str(self.directory)]
        with environment({"DBT_SNAPSHOT_ROOT": str(self.root), **(environ or {})}):
            done = dbtRunner(manifest=manifest, callbacks=[listen]).invoke([*arguments, *where])
        outcome.value = done.result
        outcome.success = bool(done.success)
        for result in getattr(done.result, "results", None) or []:
            outcome.results[result.node.unique_id] = str(result.status)
            outcome.messages[result.node.unique_id] = str(result.message)
        return outcome

    @property
    def store(self) -> Store:
        return open_store(self.root)

    def heads(self) -> dict[str, int]:
        """Model name -> number of its newest snapshot."""
        return {row.dataset.rsplit(".", 1)[-1]: row.seq for row in self.store.list()}

    def head(self, name: str) -> dict[str, Any]:
        return self.store.show(name)

    def builds(self, name: str) -> list[Build]:
        """Of one node, newest first."""
        repository = self.store.repository
        dataset = next(d for d in repository.datasets() if d.unique_id.endswith(f".{name}"))
        return list(repository.events(dataset).builds())

    def last_build(self, name: str) -> BuildEnded:
        """How the newest build of a node ended."""
        ended = self.builds(name)[0].ended
        assert ended is not None, f"the build of {name} has not ended"
        return ended

    def assert_valid(self) -> None:
        """Nothing half-written: the store is sound and nothing waits in staging."""
        assert self.store.validate().errors == []
        assert list((self.root / "staging").iterdir()) == []


@contextlib.contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
