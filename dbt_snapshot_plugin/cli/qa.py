"""`dbt-snapshot qa …`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click

from dbt_snapshot_plugin.bridges.gx_files import default_paths
from dbt_snapshot_plugin.cli.context import Session, with_session
from dbt_snapshot_plugin.cli.output import ExitCode, leave, warn
from dbt_snapshot_plugin.ops.ingest import Ingestion, Row
from dbt_snapshot_plugin.ops.ingest import ingest as take_in
from dbt_snapshot_plugin.ops.scope import choose_env, project_graph
from dbt_snapshot_plugin.report.qa import STATES, render_ingestion

_MANY = 50


@click.group("qa")
def qa() -> None:
    """Take in results of Great Expectations."""


@qa.command("ingest")
@click.argument("paths", nargs=-1, metavar="[PATH]…", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Write nothing; needs neither store nor project.")
@click.option("--env", metavar="ENV", help="Default: that of the last dbt run.")
@with_session
def ingest(session: Session, paths: tuple[Path, ...], dry_run: bool, env: str | None) -> None:
    """Bind validation results to the data that they judged.

    PATHs are result files or directories. Default: the results of the Great Expectations project
    in gx/ or great_expectations/. Whatever they say, the exit code is 0: that is what `gate` is
    for. It is 1 if a file can't be read.
    """
    project = session.project()
    files = list(paths) or default_paths(project)
    repo = session.repository()
    if not dry_run:
        repo.require()
    done = take_in(
        repo if repo.exists else None,
        files,
        graph=project_graph(project),
        env=choose_env(repo, env, session.context()) if repo.exists else env,
        dry_run=dry_run,
        progress=_progress() if sys.stderr.isatty() and not session.quiet else None,
    )
    document = done.to_dict()
    fresh = [row.to_dict() for row in done.rows if not row.known]
    session.emit(document, lambda style: render_ingestion(fresh, _summary(done), style))
    if done.unreadable:
        if session.quiet and session.output == "text":
            for row in done.unreadable:
                warn(f"{row.file}: {row.reason}")
        leave(ExitCode.NO)


def _summary(done: Ingestion) -> str:
    """How many of each, and what became of them."""
    if not done.rows:
        return "no validation results found"
    states = Counter(str(row.state) for row in done.rows)
    parts = [f"{states[state]} {state}" for state in STATES if states[state]]
    plural = "" if len(done.rows) == 1 else "s"
    line = f"{len(done.rows):,} result{plural}: {', '.join(parts)}"

    def add(text: str, wanted: Callable[[Row], bool]) -> str:
        number = sum(map(wanted, done.rows))
        return f"; {number} {text}" if number else ""

    line += "; dry run, nothing is written" if done.dry_run else add("new", lambda r: r.stored)
    line += add("taken in before", lambda r: r.known)
    line += add("of no known dataset", lambda r: r.dataset is None)
    return line + add("can't be read", lambda r: r.unreadable)


def _progress() -> Callable[[int, int], None]:
    """One line on the terminal that is overwritten; nothing for a handful of files."""

    def show(done: int, total: int) -> None:
        if total >= _MANY and (done == total or done % _MANY == 0):
            end = "\n" if done == total else ""
            click.echo(f"\r{done:,} of {total:,} results read", nl=False, err=True)
            click.echo(end, nl=False, err=True)

    return show
