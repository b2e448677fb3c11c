"""Where Great Expectations keeps its results and suites, and what their paths tell."""

from __future__ import annotations

import datetime as dt
import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import msgspec

from dbt_snapshot_plugin.model.errors import EvidenceError, UsageError
from dbt_snapshot_plugin.model.ids import UTC, parse_time

VALIDATIONS = "uncommitted/validations"
PROJECT_DIRS = ("gx", "great_expectations")
_PATH_TIME = re.compile(r"\d{8}T\d{6}\.\d{6}Z\Z")
_EARLIEST = dt.datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Found:
    """A file to read; `named` means that the user gave this very file."""

    path: Path
    named: bool
    refused: str | None = None


@dataclass(frozen=True)
class SuiteFile:
    """What `expectations/<suite>.json` says of the suite, as it is now."""

    name: str
    unique_id: str | None


def default_paths(project_dir: Path) -> list[Path]:
    """The result directories of the GX projects that lie in a dbt project."""
    found = [project_dir / name / VALIDATIONS for name in PROJECT_DIRS]
    there = [path for path in found if path.is_dir()]
    if not there:
        raise UsageError(
            "there are no Great Expectations results here",
            where=", ".join(str(path) for path in found),
            next_step="run a checkpoint first, or name the files: `dbt-snapshot qa ingest PATH`",
        )
    return there


def find_results(paths: list[Path]) -> list[Found]:
    """The files to read: what was named, and every *.json under the directories."""
    found: dict[Path, Found] = {}
    for path in paths:
        if path.is_dir():
            homes = (path, *(path / name for name in PROJECT_DIRS))
            inner = [home / VALIDATIONS for home in homes if (home / VALIDATIONS).is_dir()]
            for base in inner or [path]:
                for item in _walk(base):
                    found.setdefault(item.path, item)
        elif path.exists():
            found[path] = Found(path, named=True)
        else:
            raise UsageError(
                "no such file or directory",
                where=str(path),
                next_step="name a validation result or a directory that holds some",
            )
    return sorted(found.values(), key=lambda item: str(item.path))


def _walk(base: Path) -> list[Found]:
    """What can't be looked at is found too: it may be the newest result."""
    found: list[Found] = []
    inside = base.resolve()
    refused = "a symbolic link that leaves the directory is not followed"

    def hidden(error: OSError) -> None:
        path = Path(error.filename)
        found.append(Found(path, named=False, refused=f"can't be listed: {error.strerror}"))

    for directory, folders, names in os.walk(base, onerror=hidden):
        for name in names + folders:
            path = Path(directory, name)
            leaves = path.is_symlink() and inside not in _target(path).parents
            if leaves and (name in folders or path.suffix == ".json"):
                found.append(Found(path, named=False, refused=refused))
            elif name in names and path.suffix == ".json":
                found.append(Found(path, named=False))
    return found


def _target(path: Path) -> Path:
    """Where a link leads; a loop leads nowhere."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return Path("/")


def moment(value: Any) -> dt.datetime | None:
    """A time as GX writes it; anything else, or one before GX existed, is no time at all."""
    if not isinstance(value, str):
        return None
    try:
        found = parse_time(value).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return found if found >= _EARLIEST else None


def path_time(where: str) -> dt.datetime | None:
    """…/<run>/<time>/<batch>.json: the run's time, the last resort."""
    name = PurePath(where).parent.name
    return moment(name) if _PATH_TIME.match(name) else None


def path_suite(where: str) -> str | None:
    """…/validations/<suite, dots as slashes>/<run>/<time>/<batch>.json: only for broken files."""
    parts = PurePath(where).parts
    if "validations" not in parts or not _PATH_TIME.match(PurePath(where).parent.name):
        return None
    start = len(parts) - parts[::-1].index("validations")
    return "/".join(parts[start:-3]) or None


def suite_file(result: Path, suite: str) -> SuiteFile | None:
    """The suite of a result that lies in a GX project; None if there is no such file."""
    project = _project_of(result)
    if project is None:
        return None
    path = project.joinpath("expectations", *suite.replace(".", "/").split("/"))
    path = path.with_name(path.name + ".json")
    if ".." in path.parts or not path.is_file():
        return None
    try:
        document = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise EvidenceError(f"the suite can't be read: {error}", where=str(path)) from None
    meta = document.get("meta")
    named = meta.get("dbt_unique_id") if isinstance(meta, dict) else None
    name = document.get("name", document.get("expectation_suite_name"))
    return SuiteFile(
        name=name if isinstance(name, str) and name else suite,
        unique_id=named if isinstance(named, str) and named else None,
    )


def _project_of(result: Path) -> Path | None:
    for directory in Path(os.path.abspath(result)).parents:  # noqa: PTH100 - links stay links
        if (directory / "great_expectations.yml").is_file():
            return directory
        if (directory / "expectations").is_dir():
            return directory
    return None
