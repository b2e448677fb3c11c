"""`dbt-snapshot validate [REF]`."""

from __future__ import annotations

import click

from dbt_snapshot_plugin.cli.context import Session, with_session
from dbt_snapshot_plugin.cli.output import ExitCode, leave, warn
from dbt_snapshot_plugin.ops.validate import validate as validate_store
from dbt_snapshot_plugin.report.text import render_validation


@click.command("validate")
@click.argument("ref", required=False)
@with_session
def validate(session: Session, ref: str | None) -> None:
    """Check that the store (or one snapshot, REF) holds what was written.

    Damage exits 1. QA is not judged here, it only warns: that is what `gate` is for.
    """
    found = validate_store(session.repository(), ref)
    document = found.to_dict()
    session.emit(document, lambda s: render_validation(document, s))
    if found.result == "FAIL":
        if session.quiet and session.output == "text":
            for error in found.errors:
                warn(error)
        leave(ExitCode.NO)
