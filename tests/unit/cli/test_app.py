"""The frame of the command line: one message, one exit code, never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from dbt_snapshot_plugin import __version__
from dbt_snapshot_plugin.cli import app, main
from dbt_snapshot_plugin.cli.app import COMMANDS, run
from dbt_snapshot_plugin.cli.output import ExitCode, style
from dbt_snapshot_plugin.model.errors import StoreError


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_every_command(capsys: pytest.CaptureFixture[str], flag: str) -> None:
    assert run([flag]) == ExitCode.OK
    shown = capsys.readouterr().out
    for name, lazy in COMMANDS.items():
        assert f"  {name} " in shown
        assert lazy.summary in shown


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == ExitCode.OK
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize("name", ["list", "show", "validate"])
def test_each_command_explains_itself(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run([name, "--help"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert f"Usage: dbt-snapshot {name}" in shown
    assert "--root DIR" in shown
    assert "--output [text|json]" in shown


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["lst"], "There is no command 'lst'. Did you mean 'list'?"),
        (["zzz"], "There is no command 'zzz'."),
        (["show"], "Missing argument 'REF'"),
        (["list", "--output", "xml"], "'xml' is not one of"),
        (["list", "--nope"], "No such option"),
        (["list", "a", "b"], "unexpected extra argument"),
        (["--nope"], "No such option"),
    ],
)
def test_a_wrong_call_exits_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert run(arguments) == ExitCode.CANNOT
    shown = capsys.readouterr()
    assert text in shown.err
    assert shown.out == ""


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == ExitCode.CANNOT
    shown = capsys.readouterr()
    assert "Commands:" in shown.err + shown.out


@pytest.mark.parametrize("form", [["--output", "json"], ["--output=json"]])
def test_who_asked_for_json_gets_the_error_as_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, form: list[str]
) -> None:
    assert run(["list", "--root", str(tmp_path), *form]) == ExitCode.CANNOT
    shown = capsys.readouterr()
    error = json.loads(shown.out)["error"]
    assert error["what"] == "there is no snapshot store here"
    assert error["where"] == str(tmp_path)
    assert "dbt run" in error["next"]
    assert shown.err.startswith("Error: there is no snapshot store here\n  where: ")


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Makes `list` end in this error."""

    @click.command()
    def command() -> None:
        raise error

    module = sys.modules["dbt_snapshot_plugin.cli.app"]
    monkeypatch.setattr(module.LazyGroup, "get_command", lambda *_: command)


def test_a_crash_is_one_line_and_exits_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(app.DEBUG, raising=False)
    failing(monkeypatch, ZeroDivisionError("division by zero\nand more"))
    assert run(["list"]) == ExitCode.CANNOT
    shown = capsys.readouterr().err
    assert shown.startswith("Error: internal error: ZeroDivisionError: division by zero\n")
    assert "DBT_SNAPSHOT_DEBUG=1" in shown
    assert "Traceback" not in shown


def test_the_trace_is_there_for_who_asks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(app.DEBUG, "1")
    failing(monkeypatch, ZeroDivisionError("division by zero"))
    assert run(["list"]) == ExitCode.CANNOT
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_exits_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    failing(monkeypatch, error)
    assert run(["list"]) == ExitCode.CANNOT
    assert "interrupted" in capsys.readouterr().err


def test_an_error_says_what_where_and_the_next_step(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, StoreError("it broke", where="here", next_step="mend it"))
    assert run(["list"]) == ExitCode.CANNOT
    assert capsys.readouterr().err == "Error: it broke\n  where: here\n  next:  mend it\n"


class Terminal:
    """A stdout that says it is one."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "colour"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": ""}, True)],
)
def test_colours_are_for_a_terminal_that_wants_them(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], colour: bool
) -> None:
    for name in ("NO_COLOR", "TERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert style().colour is colour
    monkeypatch.setenv("COLUMNS", "77")
    assert style().width == 77


def test_what_is_piped_has_no_colour_and_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert style().colour is False
    assert style().width > 1000


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    """`dbt-snapshot list | head -1`."""
    program = "\n".join(
        [
            "import sys",
            "from dbt_snapshot_plugin.cli.output import emit_text",
            "for _ in range(50): emit_text('x' * 10_000)",
        ]
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read()
        process.wait()
    assert errors == b""
    assert process.returncode == 0


def test_text_that_the_terminal_can_not_show_is_no_crash(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dbt_snapshot_plugin.cli", "show", "bestellungen_€_\U0001f600"],
        env={**clean_environ(), "PYTHONIOENCODING": "ascii", "DBT_SNAPSHOT_ROOT": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == ExitCode.CANNOT
    assert b"Traceback" not in done.stderr


def clean_environ() -> dict[str, Any]:
    import os

    return {k: v for k, v in os.environ.items() if not k.startswith("DBT_")}
