"""Write constraints.txt: every version that CI runs, for each Python that is promised.

One file serves Python 3.10 and up (`--universal`): where the newest release has dropped 3.10, a
marker picks the older one. No addresses and no hashes, so that it holds whatever index is set up.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST_PYTHON = "3.10"
HEADER = """\
# What CI runs, pinned: the closure of `.[all]` and the `dev` group for Python 3.10 and up.
# Made by `make lock`. These are not the ranges the package promises; those are in pyproject.toml.
"""


def compile_command() -> list[str]:
    what = ["pyproject.toml", "--all-extras", "--group", "dev"]
    which = ["--universal", "--python-version", OLDEST_PYTHON, "--upgrade"]
    plain = ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    return ["uv", "pip", "compile", "--quiet", *what, *which, *plain]


def main() -> int:
    done = subprocess.run(
        compile_command(), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        print("make_constraints: uv could not resolve pyproject.toml; nothing was written")
        return 2
    (ROOT / "constraints.txt").write_text(HEADER + done.stdout)
    print(f"make_constraints: {len(done.stdout.splitlines())} pins written to constraints.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
