"""How long a person waits for `--help`, `list` and `show` from a cold process.

The bound is relative: 3 times `python -c "import json"` on the same machine, plus 150 ms. The runs
are interleaved, so a busy moment hits all of them alike. Modules are compiled, as pip leaves them.
Exits 1 if a median is over the bound.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dbt_snapshot_plugin.store.local import LocalBackend
from tests.factories import shop_store

BASE = 'python -c "import json"'
FACTOR, EXTRA_MS = 3, 150
ROUNDS = 15


def commands(root: Path) -> dict[str, list[str]]:
    entry = [str(Path(sys.executable).with_name("dbt-snapshot"))]
    return {
        BASE: [sys.executable, "-c", "import json"],
        "dbt-snapshot --help": [*entry, "--help"],
        "dbt-snapshot list": [*entry, "list", "--root", str(root)],
        "dbt-snapshot list fct_orders": [*entry, "list", "fct_orders", "--root", str(root)],
        "dbt-snapshot show fct_orders": [*entry, "show", "fct_orders", "--root", str(root)],
    }


def environment(compiled: Path) -> dict[str, str]:
    """Ours without what would change the programs, and with a place for compiled files, because a
    checkout may have none (PYTHONDONTWRITEBYTECODE)."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DBT_", "PYTHON"))}
    return {**kept, "PYTHONPYCACHEPREFIX": str(compiled)}


def measure(
    programs: dict[str, list[str]], rounds: int, environ: dict[str, str]
) -> dict[str, list[float]]:
    """Milliseconds per run; the first round warms the file cache and is not counted."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, command in programs.items():
            begin = time.perf_counter()
            subprocess.run(command, env=environ, check=True, capture_output=True)
            if number:
                times[name].append((time.perf_counter() - begin) * 1000)
    return times


def report(times: dict[str, list[float]]) -> bool:
    """Prints the table; whether every median keeps the bound."""
    medians = {name: statistics.median(values) for name, values in times.items()}
    bound = FACTOR * medians[BASE] + EXTRA_MS
    print(f"{'command':<32}{'median':>10}{'fastest':>10}{'slowest':>10}   verdict")
    kept = True
    for name, values in times.items():
        over = name != BASE and medians[name] > bound
        kept = kept and not over
        verdict = "" if name == BASE else "OVER" if over else "ok"
        figures = (medians[name], min(values), max(values))
        print(f"{name:<32}" + "".join(f"{f:>7.0f} ms" for f in figures) + f"   {verdict}")
    print(f"bound: {FACTOR} x {medians[BASE]:.0f} ms + {EXTRA_MS} ms = {bound:.0f} ms")
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="counted runs of each command")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as directory:
        root, compiled = Path(directory, "store"), Path(directory, "compiled")
        shop_store(LocalBackend(root))
        times = measure(commands(root), rounds, environment(compiled))
    return 0 if report(times) else 1


if __name__ == "__main__":
    sys.exit(main())
