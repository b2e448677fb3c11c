"""`validate`: every kind of damage is found, named by its path, and never ends in a traceback."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dbt_snapshot_plugin.model.codec import canonical_json, encode, sha256_hex, sign, to_plain
from dbt_snapshot_plugin.model.errors import StoreError, UnknownReferenceError, UsageError
from dbt_snapshot_plugin.model.manifest import Manifest, ObjectRef, Parent
from dbt_snapshot_plugin.model.redaction import redact_profile
from dbt_snapshot_plugin.ops.validate import GROUPS, Validation, validate
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.local import LocalBackend
from dbt_snapshot_plugin.store.memory import MemoryBackend
from dbt_snapshot_plugin.store.repository import Repository
from tests.factories import (
    CUSTOMERS,
    ORDERS,
    STAGING,
    add_build,
    add_evidence,
    add_snapshot,
    make_manifest,
    make_profile,
    profile_bytes,
    reference_to,
    shop_store,
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sound")
    shop_store(LocalBackend(root))
    return root


@pytest.fixture
def root(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "store")


def check(root: Path, text: str | None = None) -> Validation:
    return validate(Repository(LocalBackend(root)), text)


def manifest_path(root: Path, seq: int, dataset: Any = ORDERS) -> Path:
    return root / layout.snapshot_key(dataset, seq)


def read(root: Path, seq: int, dataset: Any = ORDERS) -> Manifest:
    return Repository(LocalBackend(root)).history(dataset).get(seq)


def rewrite(root: Path, manifest: Manifest, **fields: Any) -> None:
    """Someone with raw write access who also signs what he writes."""
    path = manifest_path(root, manifest.seq)
    path.write_bytes(encode(sign(msgspec.structs.replace(manifest, **fields))))


def build_path(root: Path, dataset: Any = ORDERS, at: int = 0) -> Path:
    return sorted((root / layout.events_prefix(dataset, "build")).iterdir())[at]


def edit(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


def test_a_sound_store_passes(root: Path) -> None:
    found = check(root)
    assert found.result == "PASS"
    assert found.errors == []
    assert [c.name for c in found.checks] == list(GROUPS)
    assert {c.result for c in found.checks} == {"PASS"}
    on_disk = [p for p in root.rglob("*") if p.is_file() and p.name != "hint"]
    assert found.files == len(on_disk)


def test_qa_only_warns(root: Path) -> None:
    found = check(root)
    assert found.qa_status.state == "FAIL"
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("qa_status is FAIL: dev.shop/model.shop.dim_customers")


def damage_store_json(root: Path) -> Path:
    edit(root / "store.json", b"dbt-snapshot", b"dbt_snapshot")
    return root / "store.json"


def flip_in_manifest(root: Path) -> Path:
    edit(manifest_path(root, 2), b'"ann"', b'"bob"')
    return manifest_path(root, 2)


def lose_a_manifest(root: Path) -> Path:
    manifest_path(root, 2).unlink()
    return manifest_path(root, 2)


def lose_the_last_manifest(root: Path) -> Path:
    manifest_path(root, 3).unlink()
    return build_path(root)


def cut_the_whole_history(root: Path) -> Path:
    for seq in (1, 2, 3):
        manifest_path(root, seq).unlink()
    return build_path(root)


def replace_a_manifest(root: Path) -> Path:
    rewrite(root, read(root, 1), created_by="bob")
    return manifest_path(root, 2)


def replace_the_last_manifest(root: Path) -> Path:
    other = "01a1f045-6baf-7843-af3d-a7a8031d4cc8"
    rewrite(root, read(root, 3), snapshot_id=other)
    return build_path(root)


def swap_two_manifests(root: Path) -> Path:
    first, second = manifest_path(root, 1), manifest_path(root, 2)
    a, b = first.read_bytes(), second.read_bytes()
    first.write_bytes(b)
    second.write_bytes(a)
    return first


def bring_in_another_history(root: Path) -> Path:
    manifest_path(root, 3).write_bytes(manifest_path(root, 1, CUSTOMERS).read_bytes())
    return manifest_path(root, 3)


def leave_a_file_among_the_snapshots(root: Path) -> Path:
    path = manifest_path(root, 1).with_name("00000001.json.bak")
    path.write_bytes(b"{}")
    return path


def leave_a_number_far_away(root: Path) -> Path:
    manifest_path(root, 99_999_999).write_bytes(b"{}")
    return manifest_path(root, 4)


def claim_another_version(root: Path) -> Path:
    rewrite(root, read(root, 3), metadata_sha="ab" * 32)
    return manifest_path(root, 3)


def change_the_code_but_not_the_version(root: Path) -> Path:
    rewrite(root, read(root, 3), code_sha="ab" * 32)
    return manifest_path(root, 3)


def claim_another_schema_hash(root: Path) -> Path:
    rewrite(root, read(root, 3), schema_hash="ab" * 32)
    return manifest_path(root, 3)


def claim_more_columns(root: Path) -> Path:
    rewrite(root, read(root, 3), num_columns=9)
    return manifest_path(root, 3)


def lose_a_profile(root: Path) -> Path:
    path = profile_path(root)
    path.unlink()
    return path


def profile_path(root: Path) -> Path:
    profile = read(root, 1).profile
    assert profile is not None
    return root / layout.object_key(profile.sha256)


def flip_in_profile(root: Path) -> Path:
    edit(profile_path(root), b'"num_rows":3', b'"num_rows":4')
    return profile_path(root)


def store(root: Path, data: bytes) -> ObjectRef:
    ref = reference_to(data)
    path = root / layout.object_key(ref.sha256)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return ref


def name_a_profile_of_other_data(root: Path) -> Path:
    ref = store(root, profile_bytes(make_profile(17)))
    rewrite(root, read(root, 3), profile=ref)
    return manifest_path(root, 3)


def name_something_that_is_no_profile(root: Path) -> Path:
    ref = store(root, b'{"a":1}')
    rewrite(root, read(root, 3), profile=ref)
    return root / layout.object_key(ref.sha256)


def name_no_profile(root: Path) -> Path:
    rewrite(root, read(root, 3), profile=None)
    return manifest_path(root, 3)


def show_a_redacted_value(root: Path) -> Path:
    rewrite(root, read(root, 3), redacted_columns=["email"])
    return manifest_path(root, 3)


def flip_in_an_object_that_nobody_names(root: Path) -> Path:
    path = root / layout.object_key(store(root, b"orphan").sha256)
    path.write_bytes(b"0rphan")
    return path


def put_an_object_in_the_wrong_folder(root: Path) -> Path:
    path = root / "objects/zz" / sha256_hex(b"x")
    path.parent.mkdir()
    path.write_bytes(b"x")
    return path


def flip_in_event(root: Path) -> Path:
    edit(build_path(root), b"success", b"skipped")
    return build_path(root)


def rename_an_event(root: Path) -> Path:
    path = build_path(root)
    return path.rename(path.with_name("0" + path.name[1:-1] + "x"))


def bring_in_an_event(root: Path) -> Path:
    source = build_path(root, CUSTOMERS)
    path = build_path(root).with_name(source.name)
    path.write_bytes(source.read_bytes())
    return path


def pin_a_snapshot_that_is_not_there(root: Path) -> Path:
    repin(root, seq=9)
    return manifest_path(root, 3)


def pin_another_version(root: Path) -> Path:
    repin(root, metadata_sha="ab" * 32)
    return manifest_path(root, 3)


def pin_another_event(root: Path) -> Path:
    repin(root, snapshot_id="01a1f045-6baf-7843-af3d-a7a8031d4cc8")
    return manifest_path(root, 3)


def repin(root: Path, **fields: Any) -> None:
    manifest = read(root, 3)
    (parent,) = manifest.parents
    parents = [msgspec.structs.replace(parent, **fields)]
    changed = make_manifest(head=read(root, 2), data=make_profile(4), parents=parents)
    values = {"snapshot_id": manifest.snapshot_id, "metadata_sha": changed.metadata_sha}
    rewrite(root, changed, **values)


def link_a_manifest_elsewhere(root: Path) -> Path:
    path = manifest_path(root, 2)
    copy = root.parent / "copy.json"
    path.rename(copy)
    path.symlink_to(copy)
    return path


def link_a_dataset_elsewhere(root: Path) -> Path:
    path = root / layout.dataset_prefix(ORDERS)
    path.rename(root.parent / "moved")
    path.symlink_to(root.parent / "moved")
    return path


def link_an_env_elsewhere(root: Path) -> Path:
    path = root / "datasets/dev%2eshop"
    path.rename(root.parent / "moved")
    path.symlink_to(root.parent / "moved")
    return path


def put_a_directory_for_a_manifest(root: Path) -> Path:
    path = manifest_path(root, 2)
    path.unlink()
    path.mkdir()
    return path


def put_a_pipe_for_an_object(root: Path) -> Path:
    path = profile_path(root)
    path.unlink()
    os.mkfifo(path)
    return path


DAMAGE: list[tuple[str, Callable[[Path], Path], str]] = [
    ("store", damage_store_json, "record_sha256"),
    ("history", flip_in_manifest, "record_sha256"),
    ("history", lose_a_manifest, "snapshot 2 is missing"),
    ("events", lose_the_last_manifest, "snapshot 3, which is missing"),
    ("events", cut_the_whole_history, "which is missing"),
    ("history", replace_a_manifest, "does not follow"),
    ("events", replace_the_last_manifest, "left another snapshot 3"),
    ("history", swap_two_manifests, "belongs to"),
    ("history", bring_in_another_history, "belongs to"),
    ("history", leave_a_file_among_the_snapshots, "no snapshot"),
    ("history", leave_a_number_far_away, "snapshots 4 to 99999998 are missing"),
    ("identity", claim_another_version, "metadata_sha"),
    ("identity", change_the_code_but_not_the_version, "metadata_sha"),
    ("identity", claim_another_schema_hash, "schema_hash"),
    ("identity", claim_more_columns, "num_columns"),
    ("profiles", lose_a_profile, "missing"),
    ("profiles", flip_in_profile, "sha256"),
    ("profiles", name_a_profile_of_other_data, "another data_sha"),
    ("profiles", name_something_that_is_no_profile, "unknown field `a`"),
    ("profiles", name_no_profile, "names no profile"),
    ("profiles", show_a_redacted_value, "shows values of redacted columns"),
    ("objects", flip_in_an_object_that_nobody_names, "do not match its name"),
    ("objects", put_an_object_in_the_wrong_folder, "do not match its name"),
    ("events", flip_in_event, "record_sha256"),
    ("events", rename_an_event, "wrong place"),
    ("events", bring_in_an_event, "wrong place"),
    ("parents", pin_a_snapshot_that_is_not_there, "has no snapshot 9"),
    ("parents", pin_another_version, "not the version that it pins"),
    ("parents", pin_another_event, "not the version that it pins"),
    ("history", link_a_manifest_elsewhere, "symbolic link"),
    ("history", link_a_dataset_elsewhere, "symbolic link"),
    ("store", link_an_env_elsewhere, "symbolic link"),
    ("history", put_a_directory_for_a_manifest, "something else"),
    ("profiles", put_a_pipe_for_an_object, "something else"),
]


@pytest.mark.parametrize(
    ("group", "damage", "text"), DAMAGE, ids=[damage.__name__ for _, damage, _ in DAMAGE]
)
def test_damage_is_found_and_named(
    root: Path, group: str, damage: Callable[[Path], Path], text: str
) -> None:
    place = str(damage(root).relative_to(root))
    found = check(root)
    assert found.result == "FAIL"
    (failed,) = [c for c in found.checks if c.name == group]
    assert failed.result == "FAIL"
    named = [error for error in found.errors if error.startswith(f"{place}: ")]
    assert any(text in error for error in named), found.errors


def test_every_check_has_a_failing_example() -> None:
    assert {group for group, _, _ in DAMAGE} == set(GROUPS)


def test_the_rest_is_still_checked(root: Path) -> None:
    damage_store_json(root)
    flip_in_manifest(root)
    flip_in_event(root)
    flip_in_profile(root)
    found = check(root)
    failed = {c.name for c in found.checks if c.result == "FAIL"}
    assert failed == {"store", "history", "events", "profiles"}
    assert len(found.errors) == 4


def test_a_lost_record_is_reported_once(root: Path) -> None:
    """The record after it can't be compared with it, so it is not blamed too."""
    flip_in_manifest(root)
    assert len(check(root).errors) == 1


def flip_bytes(step: int) -> int:
    """Flips a bit of every so many bytes of a small store, one by one; gives how many."""
    backend = MemoryBackend()
    repo = Repository(backend)
    add_evidence(repo, add_snapshot(repo, rows=1), passed=False)
    assert validate(repo).result == "PASS"
    tried = 0
    for key in sorted(key for key in backend._items if not key.endswith("/hint")):
        data = backend._items[key]
        for index in {0, len(data) - 1, *range(tried % step, len(data), step)}:
            broken = bytearray(data)
            broken[index] ^= 1 << (index % 8)
            backend._items[key] = bytes(broken)
            found = validate(Repository(backend))
            assert found.result == "FAIL", f"byte {index} of {key}"
            assert any(error.startswith(f"{key}: ") for error in found.errors), found.errors
            tried += 1
        backend._items[key] = data
    assert validate(Repository(backend)).result == "PASS"
    return tried


def test_a_flipped_byte_in_any_record_is_found() -> None:
    assert flip_bytes(step=20) > 200


@pytest.mark.slow
def test_every_single_flipped_byte_is_found() -> None:
    assert flip_bytes(step=1) > 5000


def resigned(plain: dict[str, Any]) -> bytes:
    rest = {key: value for key, value in plain.items() if key != "record_sha256"}
    return canonical_json({**rest, "record_sha256": sha256_hex(canonical_json(rest))})


def hostile(**changes: Any) -> bytes:
    return resigned({**to_plain(make_manifest()), **changes})


HOSTILE: dict[str, bytes] = {
    "a path in a reference": hostile(profile={"sha256": "../../etc/passwd", "bytes": 1}),
    "an absolute path as parent": hostile(
        parents=[{"unique_id": "/etc/passwd", "basis": "captured", "metadata_sha": "ab" * 32}]
    ),
    "a path as parent": hostile(
        parents=[
            {"unique_id": "../../x", "basis": "captured", "metadata_sha": "ab" * 32, "seq": 1}
        ]
    ),
    "a parent without a name": hostile(
        parents=[{"unique_id": "", "basis": "captured", "metadata_sha": "ab" * 32}]
    ),
    "a parent with an endless name": hostile(
        parents=[{"unique_id": "x" * 10**6, "basis": "captured", "metadata_sha": "ab" * 32}]
    ),
    "a parent with a huge number": hostile(
        parents=[{"unique_id": "x", "basis": "captured", "metadata_sha": "ab" * 32, "seq": 10**30}]
    ),
    "control characters": hostile(dataset_name="\x1b[2J\x00\u202e"),
    "a path as env": hostile(env="../../../tmp"),
    "deep nesting": b'{"metadata":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
    "duplicate keys": b'{"seq":1,' + hostile()[1:],
    "huge numbers": hostile().replace(b'"num_rows":3', b'"num_rows":' + b"9" * 10_000),
    "invalid UTF-8": hostile().replace(b'"ann"', b'"\xc3\x28"'),
    "no JSON": b"\x00\xff" * 100,
    "nothing": b"",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("text", [None, "fct_orders@1", "fct_orders"])
def test_a_hostile_manifest_is_a_finding(root: Path, data: bytes, text: str | None) -> None:
    manifest_path(root, 1).write_bytes(data)
    if text is None:
        assert check(root).result == "FAIL"
    assert check(root, text).result in {"PASS", "FAIL"}


@pytest.mark.parametrize("data", [b"", b"{}", b"[" * 10**5, b"\xff"])
def test_a_hostile_event_is_a_finding(root: Path, data: bytes) -> None:
    build_path(root).write_bytes(data)
    found = check(root)
    assert found.result == "FAIL"
    assert found.qa_status.state in {"FAIL", "UNKNOWN"}


def test_a_store_of_another_format_can_not_be_judged(root: Path) -> None:
    plain = {"format_version": "2.0", "product": "dbt-snapshot"}
    (root / "store.json").write_bytes(resigned(plain))
    with pytest.raises(StoreError, match=r"format 2\.0 is not known"):
        check(root)


def test_a_manifest_of_another_format_is_an_error_of_its_own(root: Path) -> None:
    manifest_path(root, 3).write_bytes(hostile(format_version="2.0"))
    found = check(root)
    assert any("format 2.0 is not known" in error for error in found.errors)


def test_no_store_can_not_be_judged(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no snapshot store"):
        check(tmp_path)


def test_what_is_left_over_only_warns(root: Path) -> None:
    (root / "staging/elsewhere-1~0").write_bytes(b"half")
    store(root, b"orphan")
    (root / "datasets/.DS_Store").write_bytes(b"")
    events = root / layout.events_prefix(ORDERS, "load")
    events.mkdir()
    found = check(root)
    assert found.result == "PASS"
    texts = ["staging: 1 unfinished", "objects: 1 object(s) that no", ".DS_Store: this is not"]
    for text in [*texts, "events of a newer version"]:
        assert any(text in warning for warning in found.warnings), found.warnings


def test_a_parent_of_another_store_only_warns(tmp_path: Path) -> None:
    repo = Repository(LocalBackend(tmp_path))
    add_snapshot(repo, parents=[make_manifest(STAGING)])
    found = check(tmp_path)
    assert found.result == "PASS"
    assert any("is not in this store" in warning for warning in found.warnings)


def test_a_parent_without_a_pin_is_no_matter(tmp_path: Path) -> None:
    repo = Repository(LocalBackend(tmp_path))
    parents = [Parent(unique_id="model.shop.x", basis="unpinned", reason="no snapshot")]
    repo.prepare()
    profile = make_profile()
    repo.objects.put(profile_bytes(profile))
    repo.history(ORDERS).append(lambda head: make_manifest(head=head, parents=parents))
    assert check(tmp_path).result == "PASS"


def test_a_redacted_profile_passes(tmp_path: Path) -> None:
    repo = Repository(LocalBackend(tmp_path))
    repo.prepare()
    profile = make_profile()
    ref = repo.objects.put(canonical_json(redact_profile(profile.to_dict(), ["email"])))
    fields: dict[str, Any] = {"profile": ref, "redacted_columns": ["email"]}
    repo.history(ORDERS).append(lambda head: make_manifest(head=head, **fields))
    assert check(tmp_path).result == "PASS"


def test_a_snapshot_at_depth_schema_needs_no_profile(tmp_path: Path) -> None:
    repo = Repository(LocalBackend(tmp_path))
    add_snapshot(repo, depth="schema", profile=None, num_rows=None, hash_algo="file-listing-1")
    assert check(tmp_path).result == "PASS"


def test_a_build_that_captured_nothing_is_no_loss(root: Path) -> None:
    add_build(Repository(LocalBackend(root)), ORDERS, minute=99)
    found = check(root)
    assert found.result == "PASS"
    assert "uncaptured" in [reason.code for reason in found.qa_status.reasons]


class TestOneSnapshot:
    """`validate DATASET@…`."""

    def test_a_sound_one_passes_and_has_its_own_verdict(self, root: Path) -> None:
        found = check(root, "fct_orders")
        assert found.result == "PASS"
        assert found.qa_status.state == "PASS"
        assert found.warnings == []

    @pytest.mark.parametrize("text", ["fct_orders@2", "fct_orders@HEAD~1", "fct_orders@3"])
    def test_its_own_damage_and_that_of_the_one_before_it_fail(
        self, root: Path, text: str
    ) -> None:
        place = str(flip_in_manifest(root).relative_to(root))
        found = check(root, text)
        assert found.result == "FAIL"
        assert [error.startswith(place) for error in found.errors] == [True]

    def test_damage_elsewhere_is_not_its_own(self, root: Path) -> None:
        flip_in_manifest(root)
        edit(manifest_path(root, 1, CUSTOMERS), b'"ann"', b'"bob"')
        assert check(root, "fct_orders@1").result == "PASS"

    def test_a_damaged_store_json_fails_too(self, root: Path) -> None:
        damage_store_json(root)
        assert check(root, "fct_orders").result == "FAIL"

    def test_an_unknown_one_is_an_error(self, root: Path) -> None:
        with pytest.raises(UnknownReferenceError, match="no dataset 'nope'"):
            check(root, "nope")
        with pytest.raises(UnknownReferenceError, match="no snapshot @9"):
            check(root, "fct_orders@9")

    @pytest.mark.parametrize(
        "text", [".", "/lake/v1.2.3", "./lake", "s3://bucket/lake", "v1.2.3", "v1.2.3-provisional"]
    )
    def test_a_lake_snapshot_is_refused_in_words(self, root: Path, text: str) -> None:
        with pytest.raises(UsageError, match="later release"):
            check(root, text)
