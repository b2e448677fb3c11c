"""`dbt-snapshot profile PATH`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import click

from dbt_snapshot_plugin.cli.context import OutputForm, Session, output_option, quiet_option
from dbt_snapshot_plugin.ops.profile import profile_path
from dbt_snapshot_plugin.report.text import render_profile

_QUIET_SECONDS = 2.0
_REFRESH_SECONDS = 0.5


@click.command("profile")
@click.argument("path")
@click.option("--volatile", multiple=True, metavar="COLUMN", help="Leave it out of data_sha.")
@output_option
@quiet_option
def profile(path: str, volatile: tuple[str, ...], output: OutputForm, quiet: bool) -> None:
    """Profile the parquet, CSV, JSON lines or Arrow data at PATH, a file or a directory."""
    progress = _progress() if sys.stderr.isatty() and not quiet else None
    found = profile_path(path, volatile=volatile, progress=progress)
    if progress is not None:
        click.echo("\r\x1b[K", err=True, nl=False)
    document = found.to_dict()
    session = Session(output=output, quiet=quiet)
    session.emit(document, lambda s: render_profile(document, path, s))


def _progress() -> Callable[[int], None]:
    """One line on the terminal that appears only when it takes long."""
    due = time.monotonic() + _QUIET_SECONDS

    def show(rows: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _REFRESH_SECONDS
            click.echo(f"\r\x1b[K{rows:,} rows read", err=True, nl=False)

    return show
