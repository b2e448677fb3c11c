"""Writers as processes of their own, killed or racing; run by the tests, alone in a process.

    python -m tests.unit.store.processes steps ROOT
    python -m tests.unit.store.processes random ROOT ROUNDS SEED
    python -m tests.unit.store.processes race ROOT WRITERS SNAPSHOTS
    python -m tests.unit.store.processes denied ROOT

Each forks its writers from a process without threads that has imported all, so that a writer
starts in a millisecond and a kill hits the writing, not the start of Python.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from dbt_snapshot_plugin.cli.app import run
from dbt_snapshot_plugin.model.errors import SnapshotError
from dbt_snapshot_plugin.ops.validate import validate
from dbt_snapshot_plugin.store import local
from dbt_snapshot_plugin.store.local import LocalBackend
from dbt_snapshot_plugin.store.repository import Repository, open_repository
from tests.factories import ORDERS, add_snapshot, make_profile

NOBODY = 65534
STEPS = ("open", "fsync", "link", "mkdir", "replace", "unlink")


def fork(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except SnapshotError as error:
        print(error, file=sys.stderr)
        os._exit(3)
    except BaseException as error:  # noqa: BLE001 - a child must never go on as its parent
        print(repr(error), file=sys.stderr)
        os._exit(4)
    os._exit(0)


def ended(pid: int) -> int:
    """The exit code of a child; negative for the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def write(root: Path, rows: int) -> None:
    add_snapshot(Repository(LocalBackend(root)), rows=rows)


def check(root: Path, least: int, most: int) -> int:
    """What must hold after a kill; gives the head."""
    repo = Repository(LocalBackend(root))
    head = repo.history(ORDERS).head_seq()
    assert least <= head <= most, f"head {head} is not in {least}..{most}"
    if repo.exists:
        found = validate(repo)
        assert found.errors == [], found.errors
    return head


def recover(root: Path, head: int) -> None:
    """The next write works, and takes away what the killed one left."""
    age_leftovers(root)
    write(root, rows=2)
    assert check(root, head + 1, head + 1) == head + 1
    left = list((root / "staging").iterdir())
    assert left == [], left


def age_leftovers(root: Path) -> None:
    """As if the minute's grace were over."""
    with contextlib.suppress(FileNotFoundError):
        for path in (root / "staging").iterdir():
            old = time.time() - 2 * local.GRACE_SECONDS
            os.utime(path, (old, old))


def kill_at_every_step(root: Path) -> None:
    """The writer dies just before each system call that changes the disk, and just after it."""
    killed = 0
    for after in (False, True):
        for number in range(1, 1000):
            place = root / f"{after}-{number}"
            if number % 2:  # a new store and an old one in turn
                write(place, rows=1)
            before = Repository(LocalBackend(place)).history(ORDERS).head_seq()
            code = ended(fork(lambda: write_until(place, number, after)))  # noqa: B023
            head = check(place, before, before + 1)
            recover(place, head)
            if code == 0:
                break
            assert code == -signal.SIGKILL, code
            killed += 1
    print(f"{killed} kills")


def write_until(root: Path, number: int, after: bool) -> None:
    """Kills itself at the call with this number."""
    seen = 0

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            mine = seen == number
            if mine and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*args, **options)
            if mine:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for name in STEPS:
        setattr(os, name, watched(getattr(os, name)))
    write(root, rows=2)


def kill_at_random(root: Path, rounds: int, seed: int) -> None:
    """A writer that appends without end is killed at a random moment."""
    chance = random.Random(seed)
    for number in range(rounds):
        place = root / str(number // 10)  # each check reads the whole history: keep it short
        head = Repository(LocalBackend(place)).history(ORDERS).head_seq()
        pid = fork(lambda: write_for_ever(place))  # noqa: B023
        time.sleep(chance.uniform(0.001, 0.06))
        os.kill(pid, signal.SIGKILL)
        code = ended(pid)
        assert code == -signal.SIGKILL, code
        recover(place, check(place, head, head + 1000))
    print(f"{rounds} kills")


def write_for_ever(root: Path) -> NoReturn:
    rows = 0
    while True:
        rows = rows % 5 + 1
        write(root, rows)


def race(root: Path, writers: int, snapshots: int) -> None:
    """All write into one dataset at once; nothing may be lost."""

    def work() -> None:
        for number in range(snapshots):
            write(root, rows=number % 5 + 1)

    codes = [ended(pid) for pid in [fork(work) for _ in range(writers)]]
    assert codes == [0] * writers, codes
    total = writers * snapshots
    assert check(root, total, total) == total
    ids = {m.snapshot_id for m in Repository(LocalBackend(root)).history(ORDERS).newest_first()}
    assert len(ids) == total
    print(f"{total} snapshots")


def denied(root: Path) -> None:
    """A user without rights reads what may be read, and is told what may not be written."""
    base = ["--root", str(root)]
    commands = [["list"], ["list", "fct_orders"], ["show", "fct_orders"], ["validate"]]
    for command in commands:  # imports all that these need while it may still be read
        assert quietly([*command, *base]) == (0, "")
    closed = root.parent / "closed"
    closed.mkdir(mode=0o700)

    def work() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        for command in commands:
            assert quietly([*command, *base]) == (0, ""), command
        expect("can't be written: Permission denied", lambda: write(root, rows=1))
        expect("can't be written: Permission denied", lambda: write(root.parent / "new", rows=1))
        expect("can't be read: Permission denied", lambda: open_repository(closed / "x"))
        code, text = quietly(["list", "--root", str(closed)])
        assert (code, "can't be read: Permission denied" in text) == (2, True), text
        assert "Traceback" not in text

    root.chmod(0o555)
    code = ended(fork(work))
    root.chmod(0o755)
    assert code == 0, code
    print("as expected")


def quietly(command: list[str]) -> tuple[int, str]:
    """Exit code and what went to stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(command)
    return code, err.getvalue()


def expect(text: str, act: Callable[[], object]) -> None:
    with pytest.raises(SnapshotError) as caught:
        act()
    assert text in caught.value.what, caught.value.what
    assert caught.value.where, caught.value
    assert caught.value.next_step, caught.value


def main(arguments: list[str]) -> None:
    mode, root = arguments[0], Path(arguments[1])
    numbers = [int(text) for text in arguments[2:]]
    for rows in range(1, 6):
        make_profile(rows)
    if mode == "steps":
        kill_at_every_step(root)
    elif mode == "random":
        kill_at_random(root, *numbers)
    elif mode == "race":
        race(root, *numbers)
    else:
        write(root, rows=1)
        denied(root)


if __name__ == "__main__":
    main(sys.argv[1:])
