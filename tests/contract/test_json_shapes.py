"""The keys of every `--output json`, as design.md fixes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dbt_snapshot_plugin.cli.app import run
from dbt_snapshot_plugin.store.local import LocalBackend
from tests.factories import shop_store

ROW = [
    "env",
    "dataset",
    "seq",
    "snapshot_id",
    "metadata_sha",
    "data_sha",
    "num_rows",
    "qa_state",
    "change",
    "created_at",
    "name",
]
QA_STATUS = {"state", "summary", "invariants", "provisional", "reasons", "suites"}
# What every joined manifest has; others are there when they were computed.
SHOW = {
    "change",
    "checksum_algorithm",
    "code_sha",
    "column_stats",
    "columns",
    "constant_columns",
    "contracts",
    "created_at",
    "created_by",
    "data_sha",
    "dataset_name",
    "depth",
    "description",
    "env",
    "estimated",
    "files",
    "format_version",
    "hash_algo",
    "high_null_columns",
    "materialization",
    "metadata",
    "metadata_sha",
    "not_computed",
    "num_columns",
    "num_rows",
    "parent_record_sha256",
    "parent_snapshot_id",
    "parents",
    "pipeline_stage",
    "producer",
    "profile",
    "qa_status",
    "qa_status_at_commit",
    "record_sha256",
    "redacted_columns",
    "relation",
    "row_minhash",
    "schema_hash",
    "schema_name",
    "seq",
    "snapshot_id",
    "source_type",
    "tags",
    "unique_id",
    "versions",
    "volatile_columns",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("store")
    shop_store(LocalBackend(root))
    return root


def output(root: Path, capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    run([*command, "--root", str(root), "--output", "json"])
    return json.loads(capsys.readouterr().out)


def test_list(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = output(root, capsys, "list")
    assert list(document) == ["datasets"]
    assert [list(row) for row in document["datasets"]] == [ROW] * 3
    row = document["datasets"][1]
    assert (row["dataset"], row["seq"], row["name"]) == ("model.shop.fct_orders", 3, None)
    assert {r["change"] for r in document["datasets"]} <= {"first", "data", "metadata"}


def test_list_of_one_dataset(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = output(root, capsys, "list", "fct_orders")
    assert list(document) == ["snapshots"]
    assert [list(row) for row in document["snapshots"]] == [ROW] * 3
    assert [row["seq"] for row in document["snapshots"]] == [3, 2, 1]


def test_show(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = output(root, capsys, "show", "fct_orders@1")
    assert set(document) == SHOW | {"volatile"} & set(document)
    assert document["producer"] == {
        "repo": None,
        "commit": None,
        "task": "SNAPSHOT",
        "report_path": None,
    }
    assert {"state", "summary", "invariants", "provisional"} <= set(document["qa_status"])
    assert set(document["qa_status"]) <= QA_STATUS
    assert set(document["columns"][0]) == {"name", "dtype", "spark_type", "kind", "nullable"}
    assert set(document["column_stats"]) == {c["name"] for c in document["columns"]}
    assert document["metadata"] == {"owner": "ann"}
    assert document["tags"] == {"finance": ""}


def test_show_has_the_message_when_there_is_one(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = output(root, capsys, "show", "fct_orders")
    assert set(document) - SHOW == {"message", "transform_description"}


def test_validate(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = output(root, capsys, "validate")
    assert list(document) == ["result", "checks", "files", "warnings", "errors", "qa_status"]
    assert document["result"] == "PASS"
    assert [list(check) for check in document["checks"]] == [["name", "result", "detail"]] * 7
    assert isinstance(document["files"], int)
    assert {"state", "summary", "invariants", "provisional"} <= set(document["qa_status"])


@pytest.mark.parametrize("command", [["show", "nope"], ["list", "a@b"], ["validate", "v1.2.3"]])
def test_an_error(root: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    document = output(root, capsys, *command)
    assert list(document) == ["error"]
    assert list(document["error"]) == ["what", "where", "next"]
