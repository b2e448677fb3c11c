"""Real processes: killed, racing, without rights."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run(mode: str, root: Path, *numbers: int) -> str:
    command = [sys.executable, "-m", "tests.unit.store.processes", mode, str(root)]
    done = subprocess.run(
        [*command, *map(str, numbers)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def public_root() -> Iterator[Path]:
    """Where another user may look; pytest's own directories are for their owner alone."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory, "store")


def test_a_writer_killed_at_every_step(tmp_path: Path) -> None:
    kills = int(run("steps", tmp_path).split()[0])
    assert kills >= 60


def test_a_writer_killed_at_random_moments(tmp_path: Path) -> None:
    assert run("random", tmp_path, 30, 1) == "30 kills"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_a_writer_killed_at_many_random_moments(tmp_path: Path, seed: int) -> None:
    assert run("random", tmp_path, 150, seed) == "150 kills"


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    assert run("race", tmp_path / "store", 2, 25) == "50 snapshots"


@pytest.mark.slow
def test_eight_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    assert run("race", tmp_path / "store", 8, 50) == "400 snapshots"


def test_a_user_without_rights_can_read_and_is_told_why_not_to_write(public_root: Path) -> None:
    assert run("denied", public_root) == "as expected"
