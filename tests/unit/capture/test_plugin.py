"""The callback that dbt calls: nothing gets out of it that is not meant for dbt."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt_snapshot_plugin import plugin
from dbt_snapshot_plugin.model.errors import StoreError
from dbt_snapshot_plugin.ops.hook import CaptureFailedError
from dbt_snapshot_plugin.plugin import DatasetSnapshots, Listener

EVENTS = ["NodeStart", "JinjaLogInfo", "JinjaLogDebug", "NodeFinished", "EndRunResult"]


def message(name: str, **data: Any) -> Any:
    return SimpleNamespace(info=SimpleNamespace(name=name), data=SimpleNamespace(**data))


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    where = "dbt_snapshot_plugin.bridges.dbt_host.say"
    monkeypatch.setattr(where, lambda text, **_: lines.append(text))
    return lines


@pytest.fixture
def listener() -> Listener:
    return Listener(lambda: None)


@pytest.mark.parametrize("name", [*EVENTS, "ArtifactWritten"])
def test_no_error_gets_out(name: str, listener: Listener, said: list[str]) -> None:
    """An event of another shape than ours, as a later dbt may send it."""
    listener._hook = object()
    listener(message(name))
    assert len(said) == 1
    assert said[0].startswith("dbt-snapshot  internal error: AttributeError")


def test_not_even_if_it_can_not_be_told(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(text: str, **_: Any) -> None:
        raise RuntimeError("no event manager")

    monkeypatch.setattr("dbt_snapshot_plugin.bridges.dbt_host.say", broken)
    listener(message("NodeStart"))
    assert capsys.readouterr().err.startswith("dbt-snapshot: AttributeError")


def test_only_what_is_meant_for_dbt_gets_out(listener: Listener) -> None:
    def fail(*_: Any) -> None:
        raise CaptureFailedError("it was built, but")

    listener._hook = SimpleNamespace(node_finished=fail)
    node = SimpleNamespace(unique_id="model.a.b", node_name="b")
    result = SimpleNamespace(status="success")
    with pytest.raises(CaptureFailedError, match="it was built, but"):
        listener(message("NodeFinished", node_info=node, run_result=result))


def test_other_events_cost_nothing(listener: Listener) -> None:
    listener(message("LogModelResult"))
    listener(message("NodeFinished"))  # no node of ours has started
    listener(message("JinjaLogInfo", msg="of a macro of the user's"))
    node = SimpleNamespace(resource_type="test", unique_id="test.a.b")
    listener(message("NodeStart", node_info=node))
    assert listener._hook is None


def test_one_cause_is_explained_once(listener: Listener, said: list[str]) -> None:
    error = StoreError("disk full", where="/x", next_step="free some")
    listener._complain(error)
    listener._complain(error)
    listener._warn("a: disk full", about="disk full")
    listener._warn(f"a: FAILED: {error}", about=str(error))
    assert said == [
        "dbt-snapshot  disk full\n  where: /x\n  next:  free some",
        "dbt-snapshot  a: disk full",
        "dbt-snapshot  a: FAILED: disk full (as above)",
    ]


@pytest.mark.parametrize(("value", "listens"), [("false", False), (" OFF ", False), ("", True)])
def test_the_switch(value: str, listens: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[Any] = []
    where = "dbt_common.events.event_manager_client.add_callback_to_manager"
    monkeypatch.setattr(where, added.append)
    monkeypatch.setenv(plugin.SWITCH, value)
    snapshots = DatasetSnapshots("shop")  # dbt's own class calls `initialize`
    assert snapshots.get_manifest_artifacts(object()) == {}
    assert len(added) == listens


def test_an_error_while_dbt_starts_is_not_dbts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any) -> None:
        raise TypeError("a later dbt")

    where = "dbt_common.events.event_manager_client.add_callback_to_manager"
    monkeypatch.setattr(where, broken)
    snapshots = DatasetSnapshots("shop")  # dbt's own class calls `initialize`
    assert snapshots.get_manifest_artifacts(object()) == {}
    assert capsys.readouterr().err == "dbt-snapshot is off: TypeError: a later dbt\n"
