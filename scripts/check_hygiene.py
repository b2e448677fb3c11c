"""Refuse text that ties the project to one machine: its paths, or the address of a package index.

A checkout must work anywhere, so no file may name the directory it was written in, and nothing but
the machine's own settings may say where packages come from.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Put together from parts, so that this file passes its own check.
_HOMES = "|".join(["/" + "work", "/" + "root", "/" + r"home/\w+", "/" + r"Users/\w+"])
EVERYWHERE = {
    "a path of one machine": re.compile(rf"(?<![\w./])(?:{_HOMES})/\w"),
    "a package index": re.compile(r"(?:extra-|default-)?index-" + r"url\s*[=\s]\s*\S*://"),
}
# Where packages are named, no address at all is needed.
NO_ADDRESSES = re.compile(r"^(constraints\.txt|pyproject\.toml|Makefile|\.ci/.*|\.pre-commit.*)$")
ADDRESS = re.compile(r"\bhttps?://|\bgit\+")


def tracked_files() -> list[str]:
    """What git has or would take: tracked files and new ones that are not ignored."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return sorted(name for name in listing.split("\0") if name and (ROOT / name).is_file())


def problems(name: str, text: str) -> Iterator[str]:
    rules = dict(EVERYWHERE)
    if NO_ADDRESSES.match(name):
        rules["an address"] = ADDRESS
    for number, line in enumerate(text.splitlines(), start=1):
        for what, pattern in rules.items():
            if pattern.search(line):
                yield f"{name}:{number}: {what}: {line.strip()[:80]}"


def main() -> int:
    found: list[str] = []
    for name in tracked_files():
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += problems(name, text)
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
