"""The settings of one project on its current target, from all the places that they come from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbt_snapshot_plugin.bridges.dbt_host import DbtTarget
from dbt_snapshot_plugin.model.config import (
    Config,
    Layer,
    environment_layer,
    model_layer,
    not_acted_on,
    resolve_config,
    settings_layer,
    usable_config,
)
from dbt_snapshot_plugin.model.errors import ConfigError
from dbt_snapshot_plugin.model.graph import Node
from dbt_snapshot_plugin.store.repository import find_root

_VARS = "vars.dbt_snapshot"


class Settings:
    def __init__(self, target: DbtTarget, environ: Mapping[str, str]) -> None:
        """Never raises: a mistake is kept as `error`, and `project` is what is right of the rest.

        So a build can be noted where nothing can be captured: its old verdict has to end.
        """
        self._target = target
        self._environ = environ
        self._environment = environment_layer(environ)
        self._vars: Layer = (_VARS, {})
        self.error: ConfigError | None = None
        try:
            self._vars = settings_layer(_VARS, target.settings)
            self.project: Config = resolve_config([self._environment, self._vars])
        except ConfigError as error:
            self.error = error
            self.project = usable_config([self._environment, self._vars])

    @property
    def env(self) -> str:
        """Which copy of the project's data this target is."""
        return self.project.env or self._target.default_env

    def root(self, given: str | None = None) -> Path:
        """The store: given > environment > vars > default, counted from the project."""
        wanted = self._vars[1].get("root")
        if wanted is not None and not isinstance(wanted, str):
            raise ConfigError(
                f"root is {wanted!r}, which is no path", where=_VARS, next_step="name a directory"
            )
        return find_root(given, self._environ, wanted, self._target.project_dir)

    def of(self, node: Node) -> Config:
        """The settings for one node; its own are stronger than the project's.

        Raises ConfigError if they or the project's are wrong.
        """
        if self.error is not None:
            raise self.error
        own = model_layer(node.unique_id, node.meta.get("dbt_snapshot"))
        return resolve_config([self._environment, own, self._vars])

    @property
    def notes(self) -> list[str]:
        """What the user should know once per run."""
        idle = not_acted_on([self._environment, self._vars])
        return [f"this version does not act on: {', '.join(idle)}"] if idle else []
