"""What happens inside one `dbt run`: nodes start, ask for a snapshot and finish.

Knows nothing of dbt's event classes; the plugin translates them. Called on dbt's worker threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dbt_snapshot_plugin.model.errors import ConfigError
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
        self, make_recorder: Callable[[], Recorder], as_written: Callable[[str], Any]
    ) -> None:
        """`as_written(key)` is a setting of the project where no recorder can be made to ask."""
        self._make_recorder = make_recorder
        self._as_written = as_written
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
            return self._given_up(entry, entry.error, unique_id) if status == SUCCESS else None
        return self._finish(entry, entry.building, status) if entry.building else None

    def _begin(self, entry: _Open, unique_id: str) -> None:
        """An error here is kept for the end: a node must not fail before it has run."""
        try:
            recorder = self._ask_project(entry)
            node = recorder.graph.node(unique_id)
            if node is None:
                return
            config = recorder.config_of(node)
            entry.fails = config.on_error == "fail"
            entry.allowed = recorder.allows(node, config)
            entry.asks = entry.marked or recorder.asks(node, config)
            wanted = entry.allowed and entry.asks
            if wanted or recorder.has_history(node):
                entry.building = recorder.begin(node, config, wanted=wanted)
        except Exception as error:  # noqa: BLE001 - dbt hangs on one that gets out here
            entry.error = error

    def _ask_project(self, entry: _Open) -> Recorder:
        """What the project says holds until the node's own settings are known."""
        try:
            recorder = self.recorder
        except Exception:
            entry.fails = self._as_written("on_error") == "fail"
            entry.asks = self._as_written("trigger") == "model"
            raise
        project = recorder.settings.project
        entry.fails, entry.asks = project.on_error == "fail", project.trigger == "model"
        return recorder

    def _finish(self, entry: _Open, building: Building, status: str) -> Finished | None:
        began = time.monotonic()
        unwanted = _why_unwanted(entry, building)
        captured = self.recorder.finish(building, status, unwanted=unwanted)
        if unwanted is not None or status != SUCCESS:
            return None
        fails = captured.outcome == "failed" and entry.fails
        return self._keep(Finished(captured, time.monotonic() - began, fails))

    def _given_up(self, entry: _Open, error: Exception, unique_id: str) -> Finished | None:
        """Whoever asked for a snapshot is told; a wrong setting is told to whoever wrote it."""
        wanted = entry.allowed and (entry.marked or entry.asks)
        if not wanted and not isinstance(error, ConfigError):
            return None
        captured = Captured(Dataset("", unique_id), "failed", reason=explain(error))
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
