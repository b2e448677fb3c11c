"""tests/plugins/no_skip.py: a skip is a failure, an expected failure is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("body", "exit_code"),
    [
        ("def test_it(): pass", 0),
        ("import pytest\ndef test_it(): pytest.skip('no')", 1),
        ("import pytest\npytest.skip('all of it', allow_module_level=True)", 1),
        ("import pytest\n@pytest.mark.xfail\ndef test_it(): assert False", 0),
        ("def test_it(): assert False", 1),
    ],
)
def test_exit_code(tmp_path: Path, body: str, exit_code: int) -> None:
    (tmp_path / "test_it.py").write_text(body)
    command = [sys.executable, "-m", "pytest", "-p", "tests.plugins.no_skip"]
    options = ["-c", "/dev/null", "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *options, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert ("skips are not allowed here" in done.stdout) == ("skip(" in body)
