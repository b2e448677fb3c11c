"""dbt as a host: what one invocation runs against, in plain values. dbt is imported on use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt_snapshot_plugin.model.errors import HostError, UsageError

_VARS_KEY = "dbt_snapshot"
_PARTIAL = ("empty", "sample")


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
    package_vars: Mapping[str, Mapping[str, Any]]
    """What each installed package says of its own vars; the project's word is stronger."""

    @property
    def default_env(self) -> str:
        """Each developer's schema is an env of its own, so two of them never meet."""
        return f"{self.name}.{self.schema}"

    @property
    def settings(self) -> Any:
        """`vars.dbt_snapshot` of the project, as it was written."""
        return self.lookup_var(self.project_name, _VARS_KEY)

    def lookup_var(self, package: str, name: str) -> Any:
        """A var as dbt resolves it for a node of that package; None where none is set."""
        scopes: list[Any] = [self.cli_vars]
        for project in (self.project_vars, self.package_vars.get(package, {})):
            scopes += [project.get(package), project]
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


def given_manifest() -> Any:
    """Where the manifest of this dbt command will be: None until it has been parsed.

    dbt hands its manifest to a plugin only if it writes it to a file, too. The click context has
    it always, and can be asked for on the main thread only, so what is returned asks it later.
    """
    import click

    context = click.get_current_context(silent=True)
    holder = context.obj if context is not None else None
    return lambda: holder.get("manifest") if isinstance(holder, dict) else None


def current_target() -> DbtTarget:
    """The target of the dbt command that runs in this process."""
    from dbt.adapters.factory import FACTORY

    adapter = next(iter(FACTORY.adapters.values()), None)
    if adapter is None:
        raise HostError("dbt has no adapter open, so nothing is known of its target")
    return _target(adapter.config)


def current_invocation() -> Invocation:
    """The dbt command that runs in this process."""
    from dbt.flags import get_flags
    from dbt_common.invocation import get_invocation_id

    flags = get_flags()
    return Invocation(
        invocation_id=get_invocation_id(),
        command=str(getattr(flags, "WHICH", None) or "unknown"),
        partial=partial_flag({name: getattr(flags, name.upper(), None) for name in _PARTIAL}),
    )


def partial_flag(flags: Mapping[str, Any]) -> str | None:
    """The flag by which a run built less than the whole of its relations, if it has one."""
    return next((f"--{name}" for name in _PARTIAL if flags.get(name)), None)


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
        import click
        from dbt.cli.flags import Flags, args_to_context
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
        flags = Flags(args_to_context(arguments))
        object.__setattr__(flags, "VARS", dict(cli_vars or {}))
        object.__setattr__(flags, "vars", dict(cli_vars or {}))
        set_flags(flags)
        return _target(RuntimeConfig.from_args(flags))
    except (DbtBaseException, click.ClickException) as error:
        text = error.message if isinstance(error, click.ClickException) else str(error)
        raise HostError(
            f"dbt can't load the project: {' '.join(text.split())}",
            where=str(project_dir),
            next_step="`dbt debug` checks the project and its profile",
        ) from None


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
        package_vars=_package_vars(config),
    )


def _package_vars(config: Any) -> dict[str, Mapping[str, Any]]:
    from dbt_common.exceptions import DbtBaseException

    try:
        packages = config.load_dependencies()
    except DbtBaseException:
        return {}  # packages that are not installed: no manifest was made with them either
    return {name: package.vars.to_dict() for name, package in packages.items()}


def say(text: str, *, warning: bool = False) -> None:
    """A line in dbt's own log and on its console; as all but errors, `--quiet` hides it there."""
    from dbt_common.events.base_types import EventLevel
    from dbt_common.events.functions import fire_event
    from dbt_common.events.types import Note

    fire_event(Note(msg=text), level=EventLevel.WARN if warning else EventLevel.INFO)
