"""`dbt-snapshot gate`."""

from __future__ import annotations

from typing import Literal

import click

from dbt_snapshot_plugin.cli.context import Session, with_session
from dbt_snapshot_plugin.cli.output import ExitCode, leave, warn
from dbt_snapshot_plugin.cli.selection import SelectingCommand, selection_options
from dbt_snapshot_plugin.ops.gate import gate as judge
from dbt_snapshot_plugin.ops.scope import choose_env, project_graph
from dbt_snapshot_plugin.report.qa import gate_line, render_gate
from dbt_snapshot_plugin.report.style import PLAIN


@click.command("gate", cls=SelectingCommand)
@selection_options
@click.option("--env", metavar="ENV", help="Default: that of the last dbt run.")
@click.option("--allow-unchecked", is_flag=True, help="Let pass what nobody has ever checked.")
@click.option("--allow-unknown", is_flag=True, help="Let pass every UNKNOWN.")
@click.option(
    "--basis",
    type=click.Choice(["any", "strong"]),
    default="any",
    show_default=True,
    help="strong: a PASS that is bound to the data by time alone is UNKNOWN.",
)
@with_session
def gate(
    session: Session,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    env: str | None,
    allow_unchecked: bool,
    allow_unknown: bool,
    basis: Literal["any", "strong"],
) -> None:
    """Exit 1 unless the QA of every dataset of the project passes.

    Judges the datasets of the current manifest.json in one env: FAIL and UNKNOWN fail, and so
    does an empty store.
    """
    repo = session.repository()
    repo.require()
    found = judge(
        repo,
        env=choose_env(repo, env, session.context()),
        graph=project_graph(session.project()),
        select=select,
        exclude=exclude,
        allow_unchecked=allow_unchecked,
        allow_unknown=allow_unknown,
        basis=basis,
    )
    for name in found.ignored:
        session.note(f"ignored, no longer in the project: {name}")
    for note in found.notes:
        session.note(note)
    document = found.to_dict()
    session.emit(document, lambda s: render_gate(document, s))
    if found.result == "FAIL":
        if session.quiet and session.output == "text":
            warn(gate_line(document, PLAIN))
        leave(ExitCode.NO)
