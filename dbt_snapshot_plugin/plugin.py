"""The dbt plugin: one event callback, nothing patched, one place where errors stop.

dbt calls the callback on the thread on which the event happened, so a capture in NodeFinished ends
before the model's children start.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbt.plugins.manager import dbt_hook, dbtPlugin

MARKER = "dbt_snapshot::1::"
SWITCH = "DBT_SNAPSHOT_ENABLED"
_BUILDING = frozenset({"run", "build", "seed", "snapshot", "retry"})
_CAPTURED = frozenset({"model", "seed", "snapshot"})
_OFF = frozenset({"false", "0", "no", "off"})


class DatasetSnapshots(dbtPlugin):
    """Captures a dataset snapshot of every node that asks for one."""

    def initialize(self) -> None:
        """Runs at every dbt command, so it does nothing but listen."""
        if os.environ.get(SWITCH, "").strip().lower() in _OFF:
            return
        from dbt_common.events.event_manager_client import add_callback_to_manager

        self._listener = Listener()
        add_callback_to_manager(self._listener)

    @dbt_hook  # type: ignore[untyped-decorator]
    def get_manifest_artifacts(self, manifest: Any) -> dict[str, Any]:
        """dbt's only way to hand over the graph in memory; no artifact of ours comes back."""
        if hasattr(self, "_listener"):
            self._listener.manifest = manifest
        return {}


class Listener:
    """Translates dbt's events; lives for one dbt command."""

    def __init__(self) -> None:
        self.manifest: Any = None
        self._lock = threading.Lock()
        self._hook: Any = None
        self._complaints: set[str] = set()
        self._handlers: dict[str, Callable[[Any], None]] = {
            "NodeStart": self._node_started,
            "JinjaLogInfo": self._logged,
            "JinjaLogDebug": self._logged,
            "NodeFinished": self._node_finished,
            "EndRunResult": self._run_ended,
            "ArtifactWritten": self._artifact_written,
        }

    def __call__(self, message: Any) -> None:
        """The one catch-all: a fault of ours is said, and only `on_error: fail` reaches dbt.

        dbt hangs on an exception in NodeStart, so not even the complaint may raise.
        """
        handler = self._handlers.get(message.info.name)
        if handler is None:
            return
        try:
            handler(message)
        except Exception as error:
            if getattr(error, "is_meant_for_dbt", False):
                raise
            try:
                self._complain(error)
            except Exception:  # noqa: BLE001 - see above
                sys.stderr.write(f"dbt-snapshot: {type(error).__name__}: {error}\n")

    def _complain(self, error: Exception) -> None:
        from dbt_snapshot_plugin.model.errors import SnapshotError

        known = isinstance(error, SnapshotError)
        text = str(error) if known else f"internal error: {type(error).__name__}: {error}"
        self._warn(f"no dataset snapshot: {text}", about=text)

    def _warn(self, text: str, about: str) -> None:
        """One cause that hits every model (a store that can't be written) is explained once."""
        from dbt_snapshot_plugin.bridges.dbt_host import say

        if about in self._complaints:
            text = text.replace(about, about.splitlines()[0] + " (as above)")
        self._complaints.add(about)
        say(f"dbt-snapshot  {text}", warning=True)

    def _node_started(self, message: Any) -> None:
        info = message.data.node_info
        if info.resource_type in _CAPTURED and (self._hook is not None or self._is_building()):
            self._open_hook().node_started(info.unique_id)

    def _logged(self, message: Any) -> None:
        text = message.data.msg
        if self._hook is None or not text.startswith(MARKER):
            return
        import json

        self._hook.node_marked(json.loads(text[len(MARKER) :])["unique_id"])

    def _node_finished(self, message: Any) -> None:
        if self._hook is None:
            return
        data = message.data
        finished = self._hook.node_finished(data.node_info.unique_id, data.run_result.status)
        if finished is None:
            return
        from dbt_snapshot_plugin.bridges.dbt_host import say
        from dbt_snapshot_plugin.ops.hook import CaptureFailedError, failure_text
        from dbt_snapshot_plugin.report.run_lines import capture_line
        from dbt_snapshot_plugin.report.style import PLAIN

        captured, name = finished.captured, data.node_info.node_name
        line = capture_line(name, captured, finished.seconds, PLAIN)
        if captured.outcome == "failed":
            self._warn(line, about=captured.reason or "")
        else:
            say(f"dbt-snapshot  {line}")
        for warning in captured.warnings:
            self._warn(f"{name}: {warning}", about=warning)
        if finished.fails_node:
            raise CaptureFailedError(failure_text(captured))

    def _run_ended(self, message: Any) -> None:  # noqa: ARG002 - every handler gets the event
        if self._hook is None or not self._hook.finished:
            return
        from dbt_snapshot_plugin.bridges.dbt_host import say
        from dbt_snapshot_plugin.report.run_lines import summary_line

        results = [finished.captured for finished in self._hook.finished]
        say(f"dbt-snapshot  {summary_line(results, self._hook.recorder.repository.backend.root)}")

    def _artifact_written(self, message: Any) -> None:
        """`docs generate` just wrote a file that its page is made of."""
        path = Path(message.data.artifact_path)
        if path.name not in ("manifest.json", "catalog.json"):
            return
        from dbt_snapshot_plugin.bridges.dbt_host import current_invocation, current_target

        if current_invocation().command != "generate":
            return
        from dbt_snapshot_plugin.ops.docs import decorate_artifact
        from dbt_snapshot_plugin.ops.recorder import project_env, project_root
        from dbt_snapshot_plugin.store.repository import open_repository

        target = current_target()
        repository = open_repository(project_root(target))
        decorate_artifact(path.absolute(), repository, project_env(target))

    def _is_building(self) -> bool:
        from dbt_snapshot_plugin.bridges.dbt_host import current_invocation

        return current_invocation().command in _BUILDING

    def _open_hook(self) -> Any:
        with self._lock:
            if self._hook is None:
                from dbt_snapshot_plugin.bridges.dbt_host import current_target
                from dbt_snapshot_plugin.ops.hook import Hook
                from dbt_snapshot_plugin.ops.recorder import fails_on_error

                self._hook = Hook(self._make_recorder, lambda: fails_on_error(current_target()))
            return self._hook

    def _make_recorder(self) -> Any:
        from dbt_snapshot_plugin.bridges.dbt_artifacts import MANIFEST, read_graph
        from dbt_snapshot_plugin.bridges.dbt_graph import graph_from_memory
        from dbt_snapshot_plugin.bridges.dbt_host import current_invocation, current_target, say
        from dbt_snapshot_plugin.ops.locate import write_context
        from dbt_snapshot_plugin.ops.recorder import Recorder

        target = current_target()
        if self.manifest is not None:
            graph = graph_from_memory(self.manifest)
        else:  # --no-write-json, or a manifest that was handed to dbtRunner
            graph = read_graph(target.target_dir / MANIFEST)
        recorder = Recorder(target, graph, current_invocation())
        write_context(recorder.context())
        for note in recorder.notes:
            say(f"dbt-snapshot  {note}", warning=True)
        return recorder


plugins = [DatasetSnapshots]
