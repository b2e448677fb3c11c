"""`dbt-snapshot show REF`."""

from __future__ import annotations

import click

from dbt_snapshot_plugin.cli.context import Session, with_session
from dbt_snapshot_plugin.ops.show import show as show_snapshot
from dbt_snapshot_plugin.report.text import render_show


@click.command("show")
@click.argument("ref")
@with_session
def show(session: Session, ref: str) -> None:
    """Show one dataset snapshot: its data, lineage and QA.

    REF is [env/]dataset[@HEAD~n | @number | @sha | @uuid]; a dataset alone means its newest.
    """
    found = show_snapshot(session.repository(), ref)
    session.emit(found.document, lambda s: render_show(found.document, found.head_seq, s))
    for note in found.notes:
        session.note(note)
