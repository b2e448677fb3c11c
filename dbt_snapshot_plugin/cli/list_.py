"""`dbt-snapshot list [DATASET]`."""

from __future__ import annotations

import click

from dbt_snapshot_plugin.cli.context import Session, with_session
from dbt_snapshot_plugin.ops.listing import list_datasets, list_snapshots
from dbt_snapshot_plugin.report.text import render_datasets, render_snapshots


@click.command("list")
@click.argument("dataset", required=False)
@click.option("--all", "everything", is_flag=True, help="All snapshots, not the last 50.")
@with_session
def list_(session: Session, dataset: str | None, everything: bool) -> None:
    """List the datasets of the store, or the snapshots of one DATASET, newest first."""
    repo = session.repository()
    if dataset is None:
        found = list_datasets(repo)
        session.emit(found.to_dict(), lambda s: render_datasets(found.to_dict()["datasets"], s))
        for name in found.without_snapshot:
            session.note(f"{name} has no snapshot yet")
        return
    history = list_snapshots(repo, dataset, everything=everything)
    rows = history.to_dict()
    session.emit(rows, lambda s: render_snapshots(rows["snapshots"], history.total, s))
