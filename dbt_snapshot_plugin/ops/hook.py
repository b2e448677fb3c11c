"""What happens inside one `dbt run`: nodes start, ask for a snapshot and finish.

Knows nothing of dbt's event classes; the plugin translates them. Called on dbt's worker threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from dbt_snapshot_plugin.model.errors import SnapshotError
from dbt_snapshot_plugin.model.graph import Node
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.capture import Captured
from dbt_snapshot_plugin.ops.recorder import SUCCESS, Building, Recorder


class CaptureFailedError(Exception):
    """`on_error: fail`: the one error that is meant to reach dbt and fail the node."""

    is_meant_for_dbt = True


@dataclass
class _Open:
    """One node between start and finish; a microbatch model starts and finishes once a batch."""

    depth: int = 1
    marked: bool = False
    building: Building | None = None
    error: SnapshotError | None = None


@dataclass(frozen=True)
class Finished:
    """What to tell the user of one node, and whether the node is to fail."""

    captured: Captured
    seconds: float
    fails_node: bool


class Hook:
    def __init__(
        self, make_recorder: Callable[[], Recorder], fails_when_broken: Callable[[], bool]
    ) -> None:
        """`fails_when_broken` is `on_error` where no recorder could be made to ask."""
        self._make_recorder = make_recorder
        self._fails_when_broken = fails_when_broken
        self._lock = threading.RLock()
        self._open: dict[str, _Open] = {}
        self._recorder: Recorder | None = None
        self._broken: SnapshotError | None = None
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
                except SnapshotError as error:
                    self._broken = error
                    raise
            return self._recorder

    def node_started(self, unique_id: str) -> None:
        with self._lock:
            known = self._open.get(unique_id)
            if known is not None:
                known.depth += 1
                return
            entry = self._open[unique_id] = _Open()
        self._begin(entry, unique_id, asked=False)

    def node_marked(self, unique_id: str) -> None:
        """The post-hook ran. While parsing it is rendered too, when no node is open."""
        with self._lock:
            entry = self._open.get(unique_id)
        if entry is not None:
            entry.marked = True
            if entry.building is None and entry.error is None:
                self._begin(entry, unique_id, asked=True)

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
            return self._given_up(entry.error, unique_id) if entry.marked else None
        return self._finish(entry, entry.building, status) if entry.building else None

    def _begin(self, entry: _Open, unique_id: str, *, asked: bool) -> None:
        """An error here is kept for the end: a node must not fail before it has run."""
        try:
            recorder = self.recorder
            node = recorder.graph.node(unique_id)
            if node is not None and (asked or self._is_wanted(node) or recorder.has_history(node)):
                entry.building = recorder.begin(node, recorder.config_of(node))
        except SnapshotError as error:
            entry.error = error

    def _is_wanted(self, node: Node) -> bool:
        config = self.recorder.config_of(node)
        asked = config.trigger == "model" or node.has_own_hook
        return asked and self.recorder.allows(node, config)

    def _finish(self, entry: _Open, building: Building, status: str) -> Finished | None:
        began = time.monotonic()
        unwanted = self._why_unwanted(entry, building)
        captured = self.recorder.finish(building, status, unwanted=unwanted)
        if unwanted is not None or status != SUCCESS:
            return None
        fails = captured.outcome == "failed" and building.config.on_error == "fail"
        return self._keep(Finished(captured, time.monotonic() - began, fails))

    def _given_up(self, error: SnapshotError, unique_id: str) -> Finished:
        captured = Captured(Dataset("", unique_id), "failed", reason=str(error))
        recorder = self._recorder
        if recorder is not None:
            fails = recorder.project_config.on_error == "fail"
        else:
            fails = self._fails_when_broken()
        return self._keep(Finished(captured, 0.0, fails))

    def _keep(self, finished: Finished) -> Finished:
        with self._lock:
            self.finished.append(finished)
        return finished

    def _why_unwanted(self, entry: _Open, building: Building) -> str | None:
        node, config = building.node, building.config
        if not self.recorder.allows(node, config):
            return "dataset snapshots are off for it"
        if entry.marked or config.trigger == "model":
            return None
        return "its post-hook did not run" if node.has_own_hook else "no post-hook asks for one"


def failure_text(captured: Captured) -> str:
    """For `on_error: fail`: dbt has said OK already, so both halves must be said."""
    return (
        f"{captured.dataset.unique_id} was built, but its dataset snapshot could not be taken, "
        f"and on_error is fail.\n  why:   {captured.reason}\n"
        "  The table is there. Mend the cause, then run `dbt-snapshot capture`."
    )
