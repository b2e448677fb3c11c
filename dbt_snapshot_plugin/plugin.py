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
_DECORATED = frozenset({"manifest.json", "catalog.json"})
_OFF = frozenset({"false", "0", "no", "off"})


class DatasetSnapshots(dbtPlugin):
    """Captures a dataset snapshot of every node that asks for one."""

    _listener: Listener | None = None

    def initialize(self) -> None:
        """Runs at every dbt command, so it does nothing but listen.

        An error in here would end every dbt command of this environment.
        """
        if os.environ.get(SWITCH, "").strip().lower() in _OFF:
            return
        try:
            from dbt_common.events.event_manager_client import add_callback_to_manager

            from dbt_snapshot_plugin.bridges.dbt_host import given_manifest

            listener = Listener(given_manifest())
            add_callback_to_manager(listener)
            self._listener = listener
        except Exception as error:  # noqa: BLE001 - see above
            sys.stderr.write(f"dbt-snapshot is off: {type(error).__name__}: {error}\n")

    @dbt_hook  # type: ignore[untyped-decorator]
    def get_manifest_artifacts(self, manifest: Any) -> dict[str, Any]:
        """dbt's public way to hand over the graph in memory; no artifact of ours comes back."""
        if self._listener is not None:
            self._listener.manifest = manifest
        return {}


class Listener:
    """Translates dbt's events; lives for one dbt command."""

    def __init__(self, given_manifest: Callable[[], Any]) -> None:
        self.manifest: Any = None
        self._given_manifest = given_manifest
        self._lock = threading.Lock()
        self._hook: Any = None
        self._pages: Any = None
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
        from dbt_snapshot_plugin.ops.recorder import explain

        text = explain(error)
        if text not in self._complaints:
            self._warn(text, about=text)

    def _warn(self, text: str, about: str) -> None:
        """One cause that hits every model (a store that can't be written) is explained once."""
        from dbt_snapshot_plugin.bridges.dbt_host import say

        with self._lock:
            is_known = about in self._complaints
            self._complaints.add(about)
        if is_known and "\n" in about:
            text = text.replace(about, about.splitlines()[0] + " (as above)")
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
            self._warn(line, about=captured.reason)
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
        say(f"dbt-snapshot  {summary_line(results, self._hook.root)}")

    def _artifact_written(self, message: Any) -> None:
        """`docs generate` just wrote a file that its page is made of."""
        path = Path(message.data.artifact_path)
        if path.name not in _DECORATED or self._command() != "generate":
            return
        from dbt_snapshot_plugin.report.docs import decorate_catalog, decorate_manifest

        decorate = decorate_catalog if path.name == "catalog.json" else decorate_manifest
        self._open_pages().decorate(path.absolute(), decorate)

    def _open_pages(self) -> Any:
        """dbt writes its manifest several times in one command; the store is read once."""
        if self._pages is None:
            from dbt_snapshot_plugin.bridges.dbt_host import current_target
            from dbt_snapshot_plugin.ops.docs import DocsPages
            from dbt_snapshot_plugin.ops.settings import Settings

            self._pages = DocsPages(Settings(current_target(), os.environ))
            for problem in self._pages.problems:
                self._warn(f"dbt docs: {problem}", about=problem)
        return self._pages

    @staticmethod
    def _command() -> str:
        from dbt_snapshot_plugin.bridges.dbt_host import current_invocation

        return current_invocation().command

    def _is_building(self) -> bool:
        return self._command() in _BUILDING

    def _open_hook(self) -> Any:
        with self._lock:
            if self._hook is None:
                from dbt_snapshot_plugin.bridges.dbt_host import current_target
                from dbt_snapshot_plugin.ops.hook import Hook
                from dbt_snapshot_plugin.ops.settings import Settings

                self._hook = Hook(
                    self._make_recorder, lambda: Settings(current_target(), os.environ).project
                )
            return self._hook

    def _make_recorder(self) -> Any:
        from dbt_snapshot_plugin.bridges.dbt_artifacts import MANIFEST, read_graph
        from dbt_snapshot_plugin.bridges.dbt_graph import graph_from_memory
        from dbt_snapshot_plugin.bridges.dbt_host import current_invocation, current_target, say
        from dbt_snapshot_plugin.ops.locate import write_context
        from dbt_snapshot_plugin.ops.recorder import Recorder

        target = current_target()
        manifest = self.manifest or self._given_manifest()
        graph = (
            graph_from_memory(manifest)
            if manifest is not None
            else read_graph(target.target_dir / MANIFEST)
        )
        recorder = Recorder(target, graph, current_invocation())
        write_context(recorder.context())
        for note in recorder.settings.notes:
            say(f"dbt-snapshot  {note}", warning=True)
        return recorder


plugins = [DatasetSnapshots]
