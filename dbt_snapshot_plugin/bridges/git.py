"""Repository and commit of the project, asked from git itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dbt_snapshot_plugin.model.manifest import Producer


def producer_of(directory: Path) -> Producer:
    """Nulls where there is no git or no repository: a snapshot needs neither."""
    top = _git(directory, "rev-parse", "--show-toplevel")
    remote = _git(directory, "config", "--get", "remote.origin.url")
    name = _without_password(remote) if remote else (Path(top).name if top else None)
    return Producer(repo=name, commit=_git(directory, "rev-parse", "HEAD"))


def _git(directory: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if not separator or "@" not in rest.split("/", 1)[0]:
        return url
    return f"{scheme}://{rest.split('@', 1)[1]}"
