"""The published JSON Schemas are what the types give, and real records satisfy them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from dbt_snapshot_plugin.model.codec import to_plain
from dbt_snapshot_plugin.model.schemas import build_schemas, load_schema
from dbt_snapshot_plugin.ops.show import show
from dbt_snapshot_plugin.store.memory import MemoryBackend
from dbt_snapshot_plugin.store.repository import Repository
from scripts.make_schemas import stale_files
from tests.factories import ORDERS, add_build, add_evidence, add_snapshot, make_profile, shop_store

NAMES = ["event", "manifest", "profile", "snapshot"]


@pytest.fixture(scope="module")
def repo() -> Repository:
    """Every kind of record, with a build that failed and a snapshot at depth schema."""
    repo = shop_store(MemoryBackend())
    add_evidence(repo, repo.resolve("dim_customers"), passed=False, suite="another")
    add_build(repo, ORDERS, minute=99)
    source = "source.shop.raw.orders"
    dataset = type(ORDERS)(ORDERS.env, source)
    add_snapshot(repo, dataset, depth="schema", profile=None, num_rows=None)
    return repo


def refuses(name: str, document: Any) -> bool:
    try:
        Draft202012Validator(load_schema(name)).validate(document)
    except ValidationError:
        return True
    return False


def test_the_files_are_up_to_date() -> None:
    assert stale_files() == [], "run `make schema`"


def test_a_stale_or_foreign_file_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}")
    assert stale_files(tmp_path) == sorted([*(f"{name}.json" for name in NAMES), "old.json"])


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_a_valid_one_and_names_itself(name: str) -> None:
    schema = load_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:dbt-snapshot:{name}:1.0"
    assert schema["title"]
    assert schema["additionalProperties"] is False
    assert build_schemas()[name] == schema


def test_stored_manifests_satisfy_theirs(repo: Repository) -> None:
    for dataset in repo.datasets():
        for manifest in repo.history(dataset).newest_first():
            assert not refuses("manifest", to_plain(manifest))


def test_stored_events_satisfy_theirs(repo: Repository) -> None:
    kinds = set()
    for dataset in repo.datasets():
        events = repo.events(dataset)
        for kind in ("build", "evidence"):
            for key in events.keys(kind):
                plain = json.loads(repo.backend.get(key) or b"")
                assert not refuses("event", plain)
                kinds.add(plain["body"]["kind"])
    assert kinds == {"build_started", "build_ended", "evidence"}


def test_profiles_satisfy_theirs() -> None:
    for rows in (0, 1, 5):
        assert not refuses("profile", make_profile(rows).to_dict())


@pytest.mark.parametrize("text", ["fct_orders", "fct_orders@1", "dim_customers", "raw.orders"])
def test_what_show_prints_satisfies_the_joined_one(repo: Repository, text: str) -> None:
    document = json.loads(json.dumps(show(repo, text).to_dict()))
    Draft202012Validator(load_schema("snapshot")).validate(document)


CHANGES: list[tuple[str, Any]] = [
    ("invented", 1),
    ("data_sha", "abc"),
    ("seq", 0),
    ("seq", "1"),
    ("created_at", "yesterday"),
    ("depth", "deep"),
    ("num_rows", -1),
    ("columns", [{"name": "a"}]),
    ("record_sha256", ""),
]


@pytest.mark.parametrize(("field", "value"), CHANGES)
def test_what_a_reader_refuses_the_schema_refuses(
    repo: Repository, field: str, value: Any
) -> None:
    plain = to_plain(repo.resolve("fct_orders"))
    assert refuses("manifest", {**plain, field: value})


@pytest.mark.parametrize(
    "field", ["format_version", "record_sha256", "seq", "parents", "parent_snapshot_id", "tags"]
)
def test_what_every_record_has_the_schema_requires(repo: Repository, field: str) -> None:
    plain = to_plain(repo.resolve("fct_orders"))
    assert refuses("manifest", {k: v for k, v in plain.items() if k != field})


@pytest.mark.parametrize("field", ["format_version", "record_sha256", "body", "event_id"])
def test_so_it_is_with_events(repo: Repository, field: str) -> None:
    key = next(iter(repo.events(ORDERS).keys("build")))
    plain = json.loads(repo.backend.get(key) or b"")
    assert refuses("event", {k: v for k, v in plain.items() if k != field})
