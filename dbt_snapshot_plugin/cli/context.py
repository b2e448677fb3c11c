"""What every command shares: its options, and the store that they lead to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from dbt_snapshot_plugin.cli.output import emit_json, emit_text, style, warn
from dbt_snapshot_plugin.ops.locate import (
    ProjectContext,
    find_project_dir,
    locate_root,
    read_context,
)
from dbt_snapshot_plugin.report.style import Style
from dbt_snapshot_plugin.store.repository import Repository, open_repository

OutputForm = Literal["text", "json"]
Command = Callable[..., Any]

output_option = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people or JSON for programs.",
)
root_option = click.option(
    "--root",
    metavar="DIR",
    help="The store. Default: DBT_SNAPSHOT_ROOT, else what the last dbt run used, "
    "else .dbt_snapshot in the project.",
)
project_option = click.option(
    "--project-dir",
    metavar="DIR",
    help="The dbt project. Default: the nearest directory upwards with a dbt_project.yml.",
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print errors only.")


@dataclass(frozen=True)
class Session:
    """The shared options of one call."""

    output: OutputForm = "text"
    root: str | None = None
    project_dir: str | None = None
    quiet: bool = False

    def repository(self) -> Repository:
        """The store; it need not exist yet (`require` says so if it must)."""
        return open_repository_for(self.root, self.project_dir)

    def project(self) -> Path:
        return find_project_dir(self.project_dir)

    def context(self) -> ProjectContext | None:
        """What the last dbt run wrote down for us, if there was one."""
        return read_context(self.project())

    def emit(self, document: Any, text: Callable[[Style], str]) -> None:
        """The document as JSON, or the text that is made of it."""
        if self.output == "json":
            emit_json(document)
        elif not self.quiet:
            emit_text(text(style()))

    def note(self, text: str) -> None:
        if not self.quiet:
            warn(text)


def with_session(function: Command) -> Command:
    """Adds the shared options and hands them over as one `Session`, the first argument."""

    @output_option
    @root_option
    @project_option
    @quiet_option
    @functools.wraps(function)
    def call(
        *args: Any,
        output: OutputForm,
        root: str | None,
        project_dir: str | None,
        quiet: bool,
        **others: Any,
    ) -> Any:
        return function(Session(output, root, project_dir, quiet), *args, **others)

    return call


def open_repository_for(root: str | None = None, project_dir: str | None = None) -> Repository:
    """The store that the options, the environment or the last dbt run point at."""
    return open_repository(locate_root(root, project_dir))
