"""The command line: parses, calls one operation, prints."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """The entry of `dbt-snapshot`; the exit code is 0 ok, 1 the check said no, 2 not done."""
    from dbt_snapshot_plugin.cli.app import run

    return run(argv)
