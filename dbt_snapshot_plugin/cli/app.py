"""The command group and the one place where errors become messages and exit codes."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from dbt_snapshot_plugin import __version__
from dbt_snapshot_plugin.cli.output import ExitCode, emit_json, warn
from dbt_snapshot_plugin.model.errors import SnapshotError

DEBUG = "DBT_SNAPSHOT_DEBUG"


class Lazy(NamedTuple):
    """A command that is imported only when it runs; the summary is for `--help`."""

    home: str
    summary: str


_CLI = "dbt_snapshot_plugin.cli"
COMMANDS = {
    "profile": Lazy(f"{_CLI}.profile:profile", "Profile a data file or a directory, no Spark"),
    "capture": Lazy(f"{_CLI}.capture:capture", "Record snapshots of what the last dbt run built"),
    "list": Lazy(f"{_CLI}.list_:list_", "List the datasets, or the snapshots of one"),
    "show": Lazy(f"{_CLI}.show:show", "Show one dataset snapshot"),
    "validate": Lazy(f"{_CLI}.validate:validate", "Check that what is stored is what was written"),
    "qa": Lazy(f"{_CLI}.qa:qa", "Take in results of Great Expectations"),
    "gate": Lazy(f"{_CLI}.gate:gate", "Exit 1 unless the data is good"),
}


class LazyGroup(click.Group):
    """Imports only the command that is called: `list` must not pay for `capture`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].home.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.summary) for name, lazy in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dbt-snapshot")
def cli() -> None:
    """Dataset snapshots of dbt models on Spark: what the data is, where it came from, whether it
    is good."""


def run(argv: Sequence[str] | None = None) -> int:
    """Runs one command; never raises and never shows a traceback unless it is asked for."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        returned = cli.main(args=arguments, prog_name="dbt-snapshot", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        _emit_error(arguments, {"what": error.format_message(), "where": None, "next": None})
    except (click.Abort, KeyboardInterrupt):
        warn("interrupted")
    except SnapshotError as error:
        warn(f"Error: {error}")
        parts = {"what": error.what, "where": error.where, "next": error.next_step}
        _emit_error(arguments, parts)
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback for users
        _explain(error, arguments)
    else:
        return int(returned) if isinstance(returned, int) else int(ExitCode.OK)
    return int(ExitCode.CANNOT)


def _explain(error: Exception, arguments: list[str]) -> None:
    profiler = sys.modules.get("spark_profiler.model")
    if profiler is not None and isinstance(error, profiler.ProfilerError):
        what, step = str(error), None
        warn(f"Error: {what}")
    else:
        text = str(error).strip().splitlines()
        what = f"internal error: {type(error).__name__}: {text[0] if text else 'no text'}"
        step = f"set {DEBUG}=1 to see the trace, and report it"
        warn(f"Error: {what}\n  next:  {step}")
    if os.environ.get(DEBUG) == "1":
        import traceback

        warn("".join(traceback.format_exception(error)))
    _emit_error(arguments, {"what": what, "where": None, "next": step})


def _emit_error(arguments: list[str], parts: dict[str, Any]) -> None:
    """Who asked for JSON gets JSON on stdout, whatever happened."""
    asked = "--output=json" in arguments or any(
        pair == ("--output", "json") for pair in itertools.pairwise(arguments)
    )
    if asked:
        emit_json({"error": parts})
