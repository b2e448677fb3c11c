"""Printing: one document or one text to stdout, words for people to stderr, an exit code."""

from __future__ import annotations

import json
import os
import sys
from enum import IntEnum
from typing import Any, NoReturn

import click

from dbt_snapshot_plugin.report.style import Style

_UNLIMITED = 10_000


class ExitCode(IntEnum):
    OK = 0
    NO = 1
    """The check was made and said no."""
    CANNOT = 2
    """It could not be done."""


def emit_json(document: Any) -> None:
    """UTF-8 whatever the terminal's encoding is: a program reads it."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    _write(text.encode("utf-8", "backslashreplace") + b"\n")


def emit_text(text: str) -> None:
    _write(text if text.endswith("\n") else text + "\n")


def warn(text: str) -> None:
    """For people, on stderr: stdout stays what a program may read."""
    click.echo(text, err=True)


def leave(code: ExitCode) -> NoReturn:
    """Ends a command with an exit code, the same way in the program and in a test."""
    raise click.exceptions.Exit(int(code))


def style() -> Style:
    """Colours only for a terminal whose user has not refused them; what is piped is never cut."""
    if not sys.stdout.isatty():
        return Style(width=_UNLIMITED)
    import shutil  # slow to import, and only a terminal needs it

    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Style(width=max(60, shutil.get_terminal_size((100, 24)).columns), colour=colour)


def _write(data: str | bytes) -> None:
    try:
        click.echo(data, nl=False)
    except BrokenPipeError:
        # The reader has seen enough; the interpreter's last flush must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
