"""What dbt left under target/, and what may have become of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dbt_snapshot_plugin.bridges.dbt_artifacts import load_json, read_graph, read_run_results
from dbt_snapshot_plugin.model.errors import HostError

RUN = {
    "metadata": {"invocation_id": "abc", "dbt_version": "1.11.0"},
    "args": {"which": "run", "target": "dev", "vars": {"x": 1}},
    "results": [
        {
            "unique_id": "model.shop.a",
            "status": "success",
            "timing": [
                {"name": "compile", "completed_at": "2025-01-01T00:00:01Z"},
                {"name": "execute", "completed_at": "2025-01-01T00:00:02.5Z"},
            ],
            "something": "new",
        },
        {"unique_id": "model.shop.b", "status": "skipped", "timing": []},
    ],
    "elapsed_time": 1.0,
}


def put(tmp_path: Path, content: Any, name: str = "run_results.json") -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_run_results(tmp_path: Path) -> None:
    found = read_run_results(put(tmp_path, RUN))
    assert (found.invocation_id, found.command, found.built) == ("abc", "run", True)
    assert found.runs[0].completed_at == "2025-01-01T00:00:02.500000Z"
    assert (found.runs[1].status, found.runs[1].completed_at) == ("skipped", None)


@pytest.mark.parametrize("which", ["test", "compile", None])
def test_only_some_commands_build(tmp_path: Path, which: str | None) -> None:
    assert not read_run_results(put(tmp_path, {**RUN, "args": {"which": which}})).built


BAD_TIME = {
    **RUN,
    "results": [
        {
            "unique_id": "a",
            "status": "success",
            "timing": [{"name": "execute", "completed_at": "noon"}],
        }
    ],
}


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"results": 3}', json.dumps(BAD_TIME), "[" * 10_000], ids=str
)
def test_garbage_is_said_with_the_next_step(tmp_path: Path, content: str) -> None:
    path = put(tmp_path, content)
    with pytest.raises(HostError, match="is not what dbt writes") as caught:
        read_run_results(path)
    assert caught.value.where == str(path)
    assert caught.value.next_step == "delete the file and run dbt again"


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"manifest\.json is missing") as caught:
        read_graph(tmp_path / "manifest.json")
    assert "run dbt in this project first" in (caught.value.next_step or "")
    with pytest.raises(HostError, match="can't be read"):
        load_json(tmp_path)


@pytest.mark.parametrize("content", ["{}", '{"nodes": {}, "sources": [], "macros": {}}'])
def test_json_that_is_no_manifest(tmp_path: Path, content: str) -> None:
    with pytest.raises(HostError, match="it has no"):
        read_graph(put(tmp_path, content, "manifest.json"))
