"""Which env and which graph a command is about when nobody says so."""

from __future__ import annotations

from pathlib import Path

from dbt_snapshot_plugin.bridges.dbt_artifacts import MANIFEST, read_graph
from dbt_snapshot_plugin.model.errors import UsageError
from dbt_snapshot_plugin.model.graph import Graph
from dbt_snapshot_plugin.ops.locate import ProjectContext, find_target_dir
from dbt_snapshot_plugin.store.repository import Repository


def choose_env(repo: Repository, given: str | None, context: ProjectContext | None) -> str | None:
    """What was given, else that of the last dbt run, else the store's only one.

    None only for a store that has nothing in it. An env can be shortened while it stays unique.
    """
    known = sorted({dataset.env for dataset in repo.datasets()})
    if given is not None:
        fitting = [given] if given in known else [env for env in known if env.startswith(given)]
        if len(fitting) > 1 or (known and not fitting):
            what = "is ambiguous" if fitting else "is not in this store"
            raise _which(f"the env {given!r} {what}", repo, fitting or known)
        return fitting[0] if fitting else given
    last = context.env if context else None
    if last is not None and (last in known or not known):
        return last
    if len(known) > 1:
        raise _which("this store holds more than one env", repo, known)
    if last is not None and known:
        raise _which(f"the last dbt run used the env {last!r}, not in this store", repo, known)
    return known[0] if known else None


def _which(what: str, repo: Repository, envs: list[str]) -> UsageError:
    return UsageError(
        what, where=repo.backend.root, next_step=f"name one with --env: {', '.join(envs)}"
    )


def project_graph(project_dir: Path) -> Graph | None:
    """The graph of the project's last dbt command; None if there is no manifest.json."""
    path = find_target_dir(project_dir) / MANIFEST
    return read_graph(path) if path.is_file() else None
