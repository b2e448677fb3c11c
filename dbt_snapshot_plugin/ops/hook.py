"""What happens inside one `dbt run`: nodes start, ask for a snapshot and finish.

Knows nothing of dbt's event classes; the plugin translates them. Called on dbt's worker threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from dbt_snapshot_plugin.model.config import Config
from dbt_snapshot_plugin.model.errors import ConfigError
from dbt_snapshot_plugin.model.graph import Node
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.capture import Captured
from dbt_snapshot_plugin.ops.recorder import SUCCESS, Building, Recorder, explain


class CaptureFailedError(Exception):
    """`on_error: fail`: the one error that is meant to reach dbt and fail the node."""

    is_meant_for_dbt = True


@dataclass
class _Open:
    """One node between start and finish; a microbatch model starts and finishes once a batch."""

    depth: int = 1
    asks: bool = False
    """Whether it wants a snapshot, as far as settings and graph tell."""
    marked: bool = False
    """Whether its post-hook ran and said so."""
    allowed: bool = True
    fails: bool = False
    """Whether a capture that fails is to fail the node."""
    building: Building | None = None
    error: Exception | None = None


@dataclass(frozen=True)
class Finished:
    """What to tell the user of one node, and whether the node is to fail."""

    captured: Captured
    seconds: float
    fails_node: bool


class Hook:
    def __init__(
        self, make_recorder: Callable[[], Recorder], project_config: Callable[[], Config]
    ) -> None:
        """`project_config` is asked where no recorder can be made, so it must work without one."""
        self._make_recorder = make_recorder
        self._project_config = project_config
        self._lock = threading.RLock()
        self._open: dict[str, _Open] = {}
        self._recorder: Recorder | None = None
        self._broken: Exception | None = None
        self.finished: list[Finished] = []

    @property
    def recorder(self) -> Recorder:
        """Made when the first node starts: only then dbt has read its project and target."""
        with self._lock:
            if self._broken is not None:
                raise self._broken
            if self._recorder is None:
                try:
                    self._recorder = self._make_recorder()
                except Exception as error:
                    self._broken = error
                    raise
            return self._recorder

    @property
    def root(self) -> str | None:
        """The store, if it is known."""
        return str(self._recorder.root) if self._recorder is not None else None

    def node_started(self, unique_id: str) -> None:
        with self._lock:
            known = self._open.get(unique_id)
            if known is not None:
                known.depth += 1
                return
            entry = self._open[unique_id] = _Open()
        self._begin(entry, unique_id)

    def node_marked(self, unique_id: str) -> None:
        """The post-hook ran. While parsing it is rendered too, when no node is open."""
        with self._lock:
            entry = self._open.get(unique_id)
        if entry is None:
            return
        entry.marked = True
        if entry.asks or not entry.allowed or entry.error is not None:
            return
        entry.asks = True  # by a call that the graph does not know of
        if entry.building is None:
            self._begin(entry, unique_id)
        else:
            entry.building = self.recorder.look_around(entry.building)

    def node_finished(self, unique_id: str, status: str) -> Finished | None:
        """Captures, if this is the outermost end; None if there is nothing to say of the node."""
        with self._lock:
            entry = self._open.get(unique_id)
            if entry is None:
                return None
            entry.depth -= 1
            if entry.depth:
                return None
            del self._open[unique_id]
        if entry.error is not None:
            return self._give_up(entry, entry.error, unique_id, status)
        return self._finish(entry, entry.building, status) if entry.building else None

    def _begin(self, entry: _Open, unique_id: str) -> None:
        """An error here is kept for the end: a node must not fail before it has run."""
        try:
            self._believe(entry, self._project_config())
            node = self.recorder.graph.node(unique_id)
            if node is not None:
                self._begin_node(entry, self.recorder, node)
        except Exception as error:  # noqa: BLE001 - dbt hangs on one that gets out here
            entry.error = error

    def _begin_node(self, entry: _Open, recorder: Recorder, node: Node) -> None:
        config = recorder.settings.project
        try:
            config = recorder.config_of(node)
        except ConfigError as error:
            entry.error = error
        self._believe(entry, config)
        entry.allowed = recorder.allows(node, config)
        entry.asks = entry.marked or recorder.asks(node, config)
        wanted = entry.allowed and entry.asks and entry.error is None
        if wanted or recorder.has_history(node):
            entry.building = recorder.begin(node, config, wanted=wanted)

    @staticmethod
    def _believe(entry: _Open, config: Config) -> None:
        entry.fails, entry.asks = config.on_error == "fail", config.trigger == "model"

    def _finish(self, entry: _Open, building: Building, status: str) -> Finished | None:
        began = time.monotonic()
        unwanted = _why_unwanted(entry, building)
        captured = self.recorder.finish(building, status, unwanted=unwanted)
        if unwanted is not None or status != SUCCESS:
            return None
        fails = captured.outcome == "failed" and entry.fails
        return self._keep(Finished(captured, time.monotonic() - began, fails))

    def _give_up(
        self, entry: _Open, error: Exception, unique_id: str, status: str
    ) -> Finished | None:
        """Whoever asked for a snapshot is told; a wrong setting is told to whoever wrote it."""
        reason = explain(error)
        if entry.building is not None:  # what was known of the relation ends all the same
            self.recorder.finish(entry.building, status, unwanted=reason)
        wanted = entry.allowed and (entry.marked or entry.asks)
        if status != SUCCESS or not (wanted or isinstance(error, ConfigError)):
            return None
        captured = Captured(Dataset("", unique_id), "failed", reason=reason)
        return self._keep(Finished(captured, 0.0, wanted and entry.fails))

    def _keep(self, finished: Finished) -> Finished:
        with self._lock:
            self.finished.append(finished)
        return finished


def _why_unwanted(entry: _Open, building: Building) -> str | None:
    if not entry.allowed:
        return "dataset snapshots are off for it"
    if entry.marked or building.config.trigger == "model":
        return None
    return "its post-hook did not run" if entry.asks else "no post-hook asks for one"


def failure_text(captured: Captured) -> str:
    """For `on_error: fail`: dbt has said OK already, so both halves must be said."""
    return (
        f"{captured.dataset.unique_id} was built, but its dataset snapshot could not be taken, "
        f"and on_error is fail.\n  why:   {captured.reason}\n"
        "  The table is there. Mend the cause, then run `dbt-snapshot capture`."
    )
