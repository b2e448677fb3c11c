"""`dbt-snapshot capture`."""

from __future__ import annotations

import click

from dbt_snapshot_plugin.cli.context import Session, with_session
from dbt_snapshot_plugin.cli.output import ExitCode, emit_text, leave, style, warn
from dbt_snapshot_plugin.cli.selection import SelectingCommand, selection_options
from dbt_snapshot_plugin.ops.capture import Captured
from dbt_snapshot_plugin.report.run_lines import capture_line, summary_line


@click.command("capture", cls=SelectingCommand)
@selection_options
@click.option("-t", "--target", metavar="NAME", help="The dbt target. Default: the last run's.")
@click.option("--profiles-dir", metavar="DIR", help="Where profiles.yml lies.")
@with_session
def capture(
    session: Session,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    target: str | None,
    profiles_dir: str | None,
) -> None:
    """Record dataset snapshots of what the last dbt run built.

    For runs without the hook, or to catch up after a capture that failed. Reads what dbt left
    under target/ and the relations themselves, through the Spark session of the dbt profile.
    """
    from dbt_snapshot_plugin.ops.capture_project import capture as capture_project

    look = style()

    def show(name: str, captured: Captured, seconds: float) -> None:
        line = capture_line(name, captured, seconds, look)
        if captured.outcome == "failed":
            warn(line)
        elif session.output == "text" and not session.quiet:
            emit_text(line)
        for warning in captured.warnings:
            warn(f"{name}: {warning}")

    done = capture_project(
        session.project_dir,
        select=[part for given in select for part in given.split()],
        exclude=[part for given in exclude for part in given.split()],
        target=target,
        profiles_dir=profiles_dir,
        root=session.root or None,
        progress=show,
    )
    for note in done.notes:
        session.note(note)
    session.emit(done.to_dict(), lambda _: summary_line(done.captures, done.root))
    if done.failed:
        leave(ExitCode.CANNOT)
