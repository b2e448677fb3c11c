"""`metadata_sha`: what moves a version and what does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dbt_snapshot_plugin.model.codec import encode
from dbt_snapshot_plugin.model.identity import (
    FIELD_CLASSES,
    FieldClass,
    Identity,
    identity_of,
    metadata_sha,
)
from dbt_snapshot_plugin.model.manifest import (
    Column,
    Contracts,
    FileEntry,
    Manifest,
    ObjectRef,
    Parent,
    Producer,
    SourceFiles,
)
from dbt_snapshot_plugin.model.qa import UNCHECKED
from tests.factories import STAGING, clock, make_manifest, pin

ROOT = Path(__file__).resolve().parents[3]
ID = "01a1f045-6baf-7843-af3d-a7a8031d4cc8"
SHA = "ab" * 32
STAGED = make_manifest(STAGING)
BASE = make_manifest(parents=[pin(STAGED)])
COLUMN = BASE.columns[0]


def changed(name: str, value: Any) -> Manifest:
    assert getattr(BASE, name) != value, f"{name} must be given another value"
    return msgspec.structs.replace(BASE, **{name: value})


def with_column(**fields: Any) -> list[Column]:
    return [msgspec.structs.replace(COLUMN, **fields), *BASE.columns[1:]]


IDENTITY_CHANGES: list[tuple[str, Any]] = [
    ("unique_id", "model.shop.other"),
    ("data_sha", SHA),
    ("hash_algo", "another-algorithm"),
    ("columns", with_column(name="id")),
    ("columns", with_column(spark_type="int")),
    ("columns", [*BASE.columns[1:], COLUMN]),
    ("columns", BASE.columns[1:]),
    ("volatile_columns", ["email"]),
    ("redacted_columns", ["email"]),
    ("code_sha", SHA),
    ("code_sha", None),
    ("materialization", "view"),
    ("pipeline_stage", "raw"),
    ("pipeline_stage", None),
    ("message", "new tax rule"),
    ("message", ""),
    ("parents", []),
    ("parents", [msgspec.structs.replace(pin(STAGED), metadata_sha=SHA)]),
    ("parents", [pin(STAGED), Parent(unique_id="source.shop.raw.x", basis="unpinned")]),
]
OTHER_CHANGES: list[tuple[str, Any]] = [
    ("depth", "schema"),
    ("num_rows", 7),
    ("num_columns", 7),
    ("schema_hash", SHA),
    ("compiled_code_sha", SHA),
    ("source_files", SourceFiles(count=1, bytes=2, fingerprint=SHA)),
    ("profile", ObjectRef(sha256=SHA, bytes=1)),
    ("files", [FileEntry(path="a", media_type="parquet", bytes=1, sha256=SHA, rows=None)]),
    ("checksum_algorithm", "sha512"),
    ("not_computed", {"num_rows": "not asked for"}),
    ("contracts", Contracts(schemas={"a": "1.0"}, compatibility={})),
    ("change", "data"),
    ("metadata_sha", SHA),
    ("description", "Another text."),
    ("tags", {"core": ""}),
    ("metadata", {"owner": "bob"}),
    ("dataset_name", "orders"),
    ("format_version", "1.1"),
    ("schema_name", "another"),
    ("snapshot_id", ID),
    ("seq", 12),
    ("env", "prod.shop"),
    ("parent_snapshot_id", ID),
    ("parent_record_sha256", SHA),
    ("record_sha256", SHA),
    ("created_at", clock(999)),
    ("created_by", "bob"),
    ("relation", "`prod`.`fct_orders`"),
    ("dataset_path", "file:/warehouse/x"),
    ("source_type", "delta"),
    ("producer", Producer(repo="shop", commit="abc")),
    ("qa_status_at_commit", msgspec.structs.replace(UNCHECKED, state="PASS")),
    ("invocation_id", ID),
    ("versions", {"dbt": "1.11"}),
    ("columns", with_column(nullable=not COLUMN.nullable)),
    ("columns", with_column(dtype="int32")),
    ("columns", with_column(kind="other")),
    ("parents", [msgspec.structs.replace(pin(STAGED), snapshot_id=ID, seq=9)]),
    ("parents", [msgspec.structs.replace(pin(STAGED), data_sha=SHA)]),
]


def test_every_manifest_field_is_classed() -> None:
    fields = {field.name for field in msgspec.structs.fields(Manifest)}
    assert fields == set(FIELD_CLASSES)


def test_every_class_says_why() -> None:
    assert [name for name, (_, reason) in FIELD_CLASSES.items() if not reason] == []


def test_what_is_hashed_is_what_is_classed_as_identity() -> None:
    hashed = {
        "columns" if f.name == "schema" else f.name for f in msgspec.structs.fields(Identity)
    }
    classed = {n for n, (kind, _) in FIELD_CLASSES.items() if kind is FieldClass.IDENTITY}
    assert hashed == classed


@pytest.mark.parametrize(("name", "value"), IDENTITY_CHANGES)
def test_an_identity_field_moves_the_version(name: str, value: Any) -> None:
    assert FIELD_CLASSES[name][0] is FieldClass.IDENTITY
    assert metadata_sha(changed(name, value)) != metadata_sha(BASE)


@pytest.mark.parametrize(("name", "value"), OTHER_CHANGES)
def test_any_other_field_does_not(name: str, value: Any) -> None:
    assert metadata_sha(changed(name, value)) == metadata_sha(BASE)


def test_the_two_lists_cover_every_field() -> None:
    tried = {name for name, _ in [*IDENTITY_CHANGES, *OTHER_CHANGES]}
    assert tried == set(FIELD_CLASSES)


def test_all_identity_changes_differ_from_each_other() -> None:
    found = [metadata_sha(changed(name, value)) for name, value in IDENTITY_CHANGES]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("basis", ["schema", "raced", "unpinned"])
def test_a_parent_without_a_full_pin_enters_by_its_name_alone(basis: Any) -> None:
    pins = [
        Parent(unique_id=STAGED.unique_id, basis=basis, metadata_sha=sha) for sha in (SHA, None)
    ]
    first, second = (msgspec.structs.replace(BASE, parents=[entry]) for entry in pins)
    assert metadata_sha(first) == metadata_sha(second) != metadata_sha(BASE)


def test_a_view_that_was_looked_through_is_no_part_of_it() -> None:
    seen = Parent(unique_id="model.shop.view", basis="captured", looked_through=True)
    assert metadata_sha(msgspec.structs.replace(BASE, parents=[*BASE.parents, seen])) == (
        metadata_sha(BASE)
    )


def test_the_order_of_parents_and_of_column_lists_is_of_no_meaning() -> None:
    two = [pin(STAGED), Parent(unique_id="source.shop.raw.x", basis="unpinned")]
    lists = {"volatile_columns": ["a", "b"], "redacted_columns": ["c", "d"]}
    turned = {name: value[::-1] for name, value in lists.items()}
    assert metadata_sha(msgspec.structs.replace(BASE, parents=two, **lists)) == (
        metadata_sha(msgspec.structs.replace(BASE, parents=two[::-1], **turned))
    )


def test_a_round_trip_through_json_in_another_key_order_keeps_it() -> None:
    plain = msgspec.to_builtins(BASE)
    turned = {key: plain[key] for key in reversed(plain)}
    again = msgspec.convert(turned, Manifest)
    assert metadata_sha(again) == metadata_sha(BASE)


PROGRAM = """
import locale, sys
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    pass
import msgspec
from dbt_snapshot_plugin.model.identity import metadata_sha
from dbt_snapshot_plugin.model.manifest import Manifest
print(metadata_sha(msgspec.json.decode(sys.stdin.buffer.read(), type=Manifest)))
"""


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONHASHSEED": "0", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu"},
        {"PYTHONHASHSEED": "4242", "LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "0"},
    ],
    ids=["C", "UTF-8", "Turkish"],
)
def test_another_process_gives_the_same(environ: dict[str, str]) -> None:
    manifest = msgspec.structs.replace(BASE, message="İstanbul ı — 10 € \U0001f600")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=encode(manifest),
        env={**os.environ, **environ},
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().strip() == metadata_sha(manifest)


def test_the_identity_has_no_place_and_no_time_in_it() -> None:
    text = encode(identity_of(BASE)).decode()
    for value in (BASE.env, BASE.created_at, BASE.snapshot_id, BASE.relation, BASE.description):
        assert value not in text
