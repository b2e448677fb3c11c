"""`gate`: QA as an exit code, over all datasets of the project in one env."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from dbt_snapshot_plugin.model.codec import to_plain
from dbt_snapshot_plugin.model.graph import Graph, Node, asks_for_snapshot
from dbt_snapshot_plugin.model.qa import Reason, State
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.scope import choose_env
from dbt_snapshot_plugin.ops.selection import graph_of_store
from dbt_snapshot_plugin.ops.selection import select as select_nodes
from dbt_snapshot_plugin.ops.status_of import Verdicts
from dbt_snapshot_plugin.store.repository import Repository

Result = Literal["PASS", "FAIL"]
GateBasis = Literal["any", "strong"]
_NO_SNAPSHOT = Reason(code="uncaptured", text="it has no dataset snapshot in this env")
_STRONG = ("data_sha", "invocation")
_EMPTY = "the store is empty: nothing has been captured yet"
_STATES: tuple[State, ...] = ("FAIL", "UNKNOWN", "PASS")


@dataclass(frozen=True)
class Gated:
    """One dataset: its state, and whether that is let through."""

    dataset: str
    state: State
    result: Result
    reasons: list[Reason]

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "state": self.state,
            "result": self.result,
            "reasons": [to_plain(reason) for reason in self.reasons],
        }


@dataclass(frozen=True)
class Gate:
    """The verdict, worst first; `notes` says what it does not cover."""

    result: Result
    datasets: list[Gated]
    ignored: list[str] = field(default_factory=list)
    """Datasets of the store that are no longer in the project."""
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {"result": self.result, "datasets": [d.to_dict() for d in self.datasets]}


def gate(
    repo: Repository,
    *,
    env: str | None = None,
    graph: Graph | None = None,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    allow_unchecked: bool = False,
    allow_unknown: bool = False,
    basis: GateBasis = "any",
) -> Gate:
    """FAIL and UNKNOWN fail, unless they are allowed; so does having nothing to judge.

    With `graph` (the current manifest.json) a dataset that the project no longer has is ignored
    and a node that asks for a snapshot but has none is UNKNOWN; without it the whole env counts.
    `basis="strong"` takes a PASS that is bound to the data by time alone for UNKNOWN.
    """
    repo.require()
    chosen = choose_env(repo, env, None)
    if chosen is None:
        return Gate("FAIL", [], notes=[_EMPTY])
    scope = _Scope(repo, chosen, graph)
    wanted, notes = scope.wanted(select, exclude)
    gated = []
    for unique_id in wanted:
        dataset = Dataset(chosen, unique_id)
        state, reasons = _judge(repo, dataset, strong=basis == "strong")
        passes = state == "PASS" or (state == "UNKNOWN" and allow_unknown)
        passes = passes or (allow_unchecked and {r.code for r in reasons} == {"unchecked"})
        gated.append(Gated(str(dataset), state, "PASS" if passes else "FAIL", reasons))
    gated.sort(key=lambda g: (g.result == "PASS", _STATES.index(g.state), g.dataset))
    failed = not gated or any(g.result == "FAIL" for g in gated)
    return Gate("FAIL" if failed else "PASS", gated, scope.ignored, notes)


class _Scope:
    """Which datasets of an env a gate is about."""

    def __init__(self, repo: Repository, env: str, graph: Graph | None) -> None:
        self._env = env
        self._graph = graph
        self._stored = {d.unique_id for d in repo.datasets() if d.env == env}
        self._repo = repo

    @property
    def ignored(self) -> list[str]:
        if self._graph is None:
            return []
        gone = self._stored - set(self._graph.node_ids)
        return sorted(str(Dataset(self._env, unique_id)) for unique_id in gone)

    def wanted(self, select: Sequence[str], exclude: Sequence[str]) -> tuple[list[str], list[str]]:
        """The unique_ids to judge, and what to say about the others."""
        notes = [] if self._stored else [_EMPTY]
        graph = self._graph
        if graph is None:
            notes.append(f"no manifest.json: every dataset of {self._env} in the store is judged")
            graph = graph_of_store(self._repo, self._env)
        selected = _selected(graph, select, exclude)
        asking = {uid for uid in graph.node_ids if _asks(graph, graph.node(uid))}
        everything = (self._stored & set(graph.node_ids)) | asking
        wanted = sorted(everything & selected)
        if not wanted and (select or exclude):
            notes.append("nothing that was selected has a dataset snapshot or asks for one")
        elif not wanted and self._stored:
            notes.append(f"no dataset of {self._env} is in this project")
        left = sorted(selected - everything) if select else []
        if left and wanted:
            notes.append(f"selected, but not captured and not asking for it: {', '.join(left)}")
        return wanted, notes


def _selected(graph: Graph, wanted: Sequence[str], unwanted: Sequence[str]) -> set[str]:
    selected = select_nodes(graph, wanted) if wanted else set(graph.node_ids)
    return selected - select_nodes(graph, unwanted) if unwanted else selected


def _asks(graph: Graph, node: Node | None) -> bool:
    """Whether a snapshot of it is expected, as far as the node itself tells."""
    if node is None or not node.buildable:
        return False
    own = node.settings
    off = own.get("enabled") is False
    off = off or (node.materialization == "view" and own.get("views") == "off")
    return not off and (own.get("trigger") == "model" or asks_for_snapshot(graph, node))


def _judge(repo: Repository, dataset: Dataset, *, strong: bool) -> tuple[State, list[Reason]]:
    head = repo.history(dataset).head()
    if head is None:
        return "UNKNOWN", [_NO_SNAPSHOT]
    status = Verdicts(repo, dataset).of(head)
    weak = [s.suite for s in status.suites if s.state == "PASS" and s.basis not in _STRONG]
    if strong and status.state == "PASS" and weak:
        text = f"bound to this data by time only: {', '.join(weak)}"
        return "UNKNOWN", [Reason(code="stale", text=text)]
    return status.state, status.reasons
