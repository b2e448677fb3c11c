"""dbt's selection flags: `-s one two` is what dbt takes, so each takes all words up to the next
option."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_FLAGS = frozenset({"-s", "--select", "--exclude"})


class SelectingCommand(click.Command):
    """A command whose selection flags take several words each."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread(args))


def spread(args: list[str]) -> list[str]:
    """`-s a b --all` becomes `-s a -s b --all`."""
    found: list[str] = []
    flag, expected = None, False
    for arg in args:
        if arg in _FLAGS:
            flag, expected = arg, True
        elif arg.startswith("-"):
            flag = None
        elif flag is not None and not expected:
            found.append(flag)
        else:
            expected = False
        found.append(arg)
    return found


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `select` and `exclude`, as tuples of expressions."""
    select = click.option(
        "-s",
        "--select",
        multiple=True,
        metavar="NAME…",
        help="Only these: names, unique_ids, tag:x, path:x, with * and with + before or after.",
    )
    exclude = click.option("--exclude", multiple=True, metavar="NAME…", help="Leave these out.")
    return select(exclude(function))
