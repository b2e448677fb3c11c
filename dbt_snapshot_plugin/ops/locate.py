"""Finding the project, the context of its last dbt run and the store."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt_snapshot_plugin.model.errors import ConfigError, UsageError
from dbt_snapshot_plugin.store.repository import ROOT_VARIABLE, find_root

PROJECT_FILE = "dbt_project.yml"
CONTEXT_FILE = "dbt_snapshot/context.json"
_TEXTS = ("env", "root", "invocation_id", "target", "profiles_dir")
# One key at the top level of a YAML file: the base install has no YAML library
_TARGET_PATH = re.compile(r"""^target-path:[ \t]*["']?([^"'#\n]+)""", re.MULTILINE)


@dataclass(frozen=True)
class ProjectContext:
    """What the last dbt run with the plugin wrote down for the CLI."""

    project_dir: Path
    target_dir: Path
    env: str | None = None
    root: str | None = None
    invocation_id: str | None = None
    target: str | None = None
    profiles_dir: str | None = None

    @property
    def manifest(self) -> Path:
        return self.target_dir / "manifest.json"


def find_project_dir(given: str | None = None) -> Path:
    """The option, else the nearest directory upwards with a dbt_project.yml, else this one."""
    if given is not None:
        chosen = Path(given).expanduser().absolute()
        if not chosen.is_dir():
            raise UsageError(
                "the project directory does not exist",
                where=str(chosen),
                next_step="give the directory that holds dbt_project.yml",
            )
        return chosen
    here = Path.cwd()
    for directory in (here, *here.parents):
        if (directory / PROJECT_FILE).is_file():
            return directory
    return here


def find_target_dir(project_dir: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Where dbt writes: DBT_TARGET_PATH, else `target-path` of the project, else `target`."""
    given = (os.environ if environ is None else environ).get("DBT_TARGET_PATH")
    if not given:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            found = _TARGET_PATH.search((project_dir / PROJECT_FILE).read_text(encoding="utf-8"))
            given = found.group(1).strip() if found else None
    return project_dir / (given or "target")


def write_context(context: ProjectContext) -> None:
    """Leaves the context for the command line; it is only a convenience, so a failure is none."""
    path = context.target_dir / CONTEXT_FILE
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    facts = {key: getattr(context, key) for key in _TEXTS}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        temporary.replace(path)


def read_context(
    project_dir: Path, environ: Mapping[str, str] | None = None
) -> ProjectContext | None:
    """The context of the last dbt run, or None if there was none."""
    target_dir = find_target_dir(project_dir, environ)
    path = target_dir / CONTEXT_FILE
    try:
        found = json.loads(path.read_bytes())
        texts = {key: _text_or_none(found, key) for key in _TEXTS}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(
            f"the context of the last dbt run can't be read: {error}",
            where=str(path),
            next_step="delete the file; the next dbt run writes it again",
        ) from None
    return ProjectContext(project_dir=project_dir, target_dir=target_dir, **texts)


def _text_or_none(found: Any, key: str) -> str | None:
    if not isinstance(found, dict):
        raise TypeError("it holds no JSON object")
    value = found.get(key)
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{key} is no text")
    return value


def locate_root(root: str | None = None, project_dir: str | None = None) -> Path:
    """Where the store is: given > environment > last dbt run > `.dbt_snapshot` of the project.

    A root that is given counts from the working directory, all others from the project.
    """
    base = find_project_dir(project_dir)
    if root is not None and "://" not in root:
        root = str(Path(root).expanduser().absolute())
    if root is not None or os.environ.get(ROOT_VARIABLE):
        return find_root(root, os.environ, None, base)
    context = read_context(base)
    return find_root(None, os.environ, context.root if context else None, base)
