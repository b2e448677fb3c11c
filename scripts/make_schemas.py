"""Writes the published JSON Schemas from the types; `--check` fails when a file is stale."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dbt_snapshot_plugin.model.schemas import DIRECTORY, schema_files


def stale_files(directory: Path = DIRECTORY) -> list[str]:
    """The files that are not what the types give, missing and superfluous ones too."""
    wanted = schema_files()
    found = {path.name: path.read_text(encoding="utf-8") for path in directory.glob("*.json")}
    return sorted(name for name in wanted | found if wanted.get(name) != found.get(name))


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: make_schemas.py [--check]", file=sys.stderr)
        return 2
    stale = stale_files()
    if arguments:
        for name in stale:
            print(f"{name} is stale: run `make schema`")
        return 1 if stale else 0
    for name in stale:
        content = schema_files().get(name)
        if content is None:
            (DIRECTORY / name).unlink()
        else:
            (DIRECTORY / name).write_text(content, encoding="utf-8")
        print(f"{'removed' if content is None else 'wrote'} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
