"""dbt as a host: what one invocation runs against, in plain values. dbt is imported on use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt_snapshot_plugin.model.errors import HostError, UsageError

_VARS_KEY = "dbt_snapshot"


@dataclass(frozen=True)
class DbtTarget:
    """The project, target and settings of one dbt invocation."""

    project_name: str
    project_dir: Path
    target_dir: Path
    profiles_dir: Path | None
    name: str
    schema: str
    adapter: str
    method: str | None
    parameters: Mapping[str, str]
    """The adapter's `server_side_parameters`: how its Spark session is configured."""
    project_vars: Mapping[str, Any]
    cli_vars: Mapping[str, Any]

    @property
    def default_env(self) -> str:
        """Each developer's schema is an env of its own, so two of them never meet."""
        return f"{self.name}.{self.schema}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """`vars.dbt_snapshot` of the project."""
        found = self.lookup_var(self.project_name, _VARS_KEY)
        return found if isinstance(found, Mapping) else {}

    def lookup_var(self, package: str, name: str) -> Any:
        """A var as dbt resolves it for a node of that package; None where none is set."""
        scopes = (self.cli_vars, self.project_vars.get(package), self.project_vars)
        for scope in scopes:
            if isinstance(scope, Mapping) and name in scope:
                return scope[name]
        return None


@dataclass(frozen=True)
class Invocation:
    """One dbt command."""

    invocation_id: str | None
    command: str
    partial: str | None = None
    """The flag that makes every relation of this run incomplete on purpose, if any."""


def current_target() -> DbtTarget:
    """The target of the dbt command that runs in this process."""
    from dbt.adapters.factory import FACTORY

    adapter = next(iter(FACTORY.adapters.values()), None)
    if adapter is None:
        raise HostError("dbt has no adapter open, so nothing is known of its target")
    return _target(adapter.config)


def current_invocation() -> Invocation:
    from dbt.flags import get_flags
    from dbt_common.invocation import get_invocation_id

    flags = get_flags()
    partial = next((f for f in ("empty", "sample") if getattr(flags, f.upper(), None)), None)
    return Invocation(
        invocation_id=get_invocation_id(),
        command=str(getattr(flags, "WHICH", None) or "unknown"),
        partial=f"--{partial}" if partial else None,
    )


def load_target(
    project_dir: Path,
    *,
    profiles_dir: str | None = None,
    target: str | None = None,
    cli_vars: Mapping[str, Any] | None = None,
) -> DbtTarget:
    """The target as dbt itself would resolve it, outside of a dbt command."""
    if not (project_dir / "dbt_project.yml").is_file():
        raise UsageError(
            "this is no dbt project: there is no dbt_project.yml",
            where=str(project_dir),
            next_step="run it inside the project, or name one with --project-dir",
        )
    try:
        from dbt.cli.flags import Flags
        from dbt.cli.main import cli
        from dbt.config.runtime import RuntimeConfig
        from dbt.flags import set_flags
        from dbt_common.context import set_invocation_context
        from dbt_common.exceptions import DbtBaseException
    except ImportError as error:
        raise HostError(
            f"dbt can't be imported: {error}",
            next_step="pip install 'dbt-snapshot-plugin[dbt]'",
        ) from None
    arguments = ["parse", "--project-dir", str(project_dir)]
    arguments += ["--profiles-dir", profiles_dir] if profiles_dir else []
    arguments += ["--target", target] if target else []
    try:
        set_invocation_context(dict(os.environ))
        flags = Flags(cli.make_context("dbt", arguments))
        object.__setattr__(flags, "VARS", dict(cli_vars or {}))
        object.__setattr__(flags, "vars", dict(cli_vars or {}))
        set_flags(flags)
        return _target(RuntimeConfig.from_args(flags))
    except DbtBaseException as error:
        raise HostError(
            f"dbt can't load the project: {_message(error)}",
            where=str(project_dir),
            next_step="`dbt debug` checks the project and its profile",
        ) from None


def _message(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _target(config: Any) -> DbtTarget:
    credentials = config.credentials
    profiles_dir = getattr(config.args, "PROFILES_DIR", None)
    parameters = getattr(credentials, "server_side_parameters", None) or {}
    return DbtTarget(
        project_name=config.project_name,
        project_dir=Path(config.project_root).absolute(),
        target_dir=Path(config.project_root, config.project_target_path).absolute(),
        profiles_dir=Path(profiles_dir).absolute() if profiles_dir else None,
        name=config.target_name,
        schema=credentials.schema,
        adapter=credentials.type,
        method=getattr(credentials, "method", None),
        parameters={str(key): str(value) for key, value in parameters.items()},
        project_vars=config.vars.to_dict(),
        cli_vars=dict(config.cli_vars or {}),
    )


def say(text: str, *, warning: bool = False) -> None:
    """A line in dbt's own log and on its console; `--quiet` hides it unless it warns."""
    from dbt_common.events.base_types import EventLevel
    from dbt_common.events.functions import fire_event
    from dbt_common.events.types import Note

    fire_event(Note(msg=text), level=EventLevel.WARN if warning else EventLevel.INFO)
