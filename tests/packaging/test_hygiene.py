"""scripts/check_hygiene.py: what it refuses, and that this checkout passes."""

from __future__ import annotations

import pytest

from scripts import check_hygiene

MACHINE = "/" + "root"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("README.md", f"cd {MACHINE}/project"),
        ("conf.py", f'path = "/{"home"}/ann/data"'),
        ("setup.cfg", "index-" + "url = scheme://host/simple"),
        ("constraints.txt", "thing @ " + "https" + "://host/thing.whl"),
        ("pyproject.toml", "thing @ git" + "+ssh"),
    ],
)
def test_refused(name: str, line: str) -> None:
    assert len(list(check_hygiene.problems(name, f"first\n{line}\n"))) == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("README.md", "see https://example.org/page"),
        ("README.md", "/usr/lib/jvm and <root>/store.json"),
        ("constraints.txt", "numpy==2.4.6 ; python_full_version >= '3.11'"),
    ],
)
def test_allowed(name: str, line: str) -> None:
    assert list(check_hygiene.problems(name, line)) == []
