"""The local backend: what only a directory can do wrong."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from dbt_snapshot_plugin.model.errors import CorruptRecordError, StoreError
from dbt_snapshot_plugin.store import local
from dbt_snapshot_plugin.store.local import LocalBackend

KEY = "datasets/dev/x/snapshots/00000001.json"
DEAD_PID = 4_000_000  # above the kernel's highest


@pytest.fixture
def backend(tmp_path: Path) -> LocalBackend:
    return LocalBackend(tmp_path / "store")


def files(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir())


def test_nothing_but_the_file_is_left(backend: LocalBackend) -> None:
    backend.put_new(KEY, b"one")
    backend.put_new(KEY, b"two")
    backend.put("hint", b"1")
    assert files(Path(backend.root)) == [KEY, "hint"]


def test_a_commit_is_durable_before_it_is_reported(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are synced before the name exists, and the name before the call returns."""
    steps: list[str] = []
    fsync, link = os.fsync, os.link

    def spy_fsync(descriptor: int) -> None:
        kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        steps.append(f"sync {kind}")
        fsync(descriptor)

    def spy_link(source: Any, target: Any) -> None:
        steps.append("link")
        link(source, target)

    backend.put_new("datasets/dev/x/snapshots/00000009.json", b"")  # the directories are there
    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(os, "link", spy_link)
    backend.put_new(KEY, b"one")
    assert steps == ["sync file", "link", "sync directory"]


def test_a_name_that_another_writer_made_is_synced_before_it_is_trusted(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.put_new(KEY, b"one")
    synced: list[Path] = []
    monkeypatch.setattr(local, "_sync_directory", synced.append)
    assert not backend.put_new(KEY, b"two")
    assert synced == [Path(backend.root, KEY).parent]


def test_new_directories_are_synced_too(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(local, "_sync_directory", synced.append)
    backend.put_new("objects/ab/abcd", b"")
    root = Path(backend.root)
    assert {root, root.parent, root / "objects", root / "objects/ab"} <= set(synced)


@pytest.mark.parametrize(
    "key",
    ["../out", "a/../../out", "/etc/passwd", "a//b", "", ".", "a/./b", "a/..", "a\\b", "a\0b"],
)
def test_a_key_that_leaves_the_root_is_refused(backend: LocalBackend, key: str) -> None:
    for act in (lambda: backend.get(key), lambda: backend.put_new(key, b""), lambda: list_(key)):
        with pytest.raises(StoreError, match="leaves the store"):
            act()


def list_(key: str) -> None:
    LocalBackend(Path("anywhere")).delete(key)


@pytest.mark.parametrize("at", ["datasets", "datasets/dev", KEY, "staging"])
def test_a_symbolic_link_is_not_followed(tmp_path: Path, at: str) -> None:
    backend = LocalBackend(tmp_path / "store")
    outside = tmp_path / "outside"
    outside.mkdir()
    place = Path(backend.root, at)
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    with pytest.raises(CorruptRecordError, match="symbolic link") as caught:
        backend.put_new(KEY, b"one")
    assert caught.value.where == str(place)
    assert list(outside.iterdir()) == []
    if at != "staging":
        with pytest.raises(CorruptRecordError, match="symbolic link"):
            backend.get(KEY)
        with pytest.raises(CorruptRecordError, match="symbolic link"):
            backend.exists(KEY)
        with pytest.raises(CorruptRecordError, match="symbolic link"):
            list(backend.names(KEY))
        with pytest.raises(CorruptRecordError, match="symbolic link"):
            backend.delete(KEY)


def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path / "store")
    Path(backend.root).mkdir()
    Path(backend.root, "hint").symlink_to(tmp_path / "nowhere")
    with pytest.raises(CorruptRecordError, match="symbolic link"):
        backend.put("hint", b"1")
    assert not (tmp_path / "nowhere").exists()


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "store").symlink_to(tmp_path / "disk")
    backend = LocalBackend(tmp_path / "store")
    assert backend.put_new(KEY, b"one")
    assert (tmp_path / "disk" / KEY).read_bytes() == b"one"


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_only_plain_files_are_read(backend: LocalBackend, kind: str) -> None:
    place = Path(backend.root, KEY)
    place.parent.mkdir(parents=True)
    place.mkdir() if kind == "directory" else os.mkfifo(place)
    with pytest.raises(CorruptRecordError, match="something else lies") as caught:
        backend.get(KEY)
    assert caught.value.where == str(place)


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV])
def test_a_file_system_without_hard_links_is_refused_in_words(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StoreError) as caught:
        backend.put_new(KEY, b"one")
    assert "no hard links" in caught.value.what
    assert caught.value.where == backend.root
    assert "DBT_SNAPSHOT_ROOT" in (caught.value.next_step or "")
    assert files(Path(backend.root)) == []


@pytest.mark.parametrize("call", ["fsync", "link", "open", "write"])
def test_a_full_disk_is_a_clear_error_and_leaves_nothing(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    backend.put_new("other", b"")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class FullFile:
        def __init__(self, descriptor: int, _: str) -> None:
            self.descriptor = descriptor

        def __enter__(self) -> FullFile:
            return self

        def __exit__(self, *_: object) -> None:
            os.close(self.descriptor)

        write = full

    monkeypatch.setattr(os, *(("fdopen", FullFile) if call == "write" else (call, full)))
    with pytest.raises(StoreError) as caught:
        backend.put_new(KEY, b"one")
    monkeypatch.undo()
    assert caught.value.what == "the store can't be written: No space left on device"
    assert files(Path(backend.root)) == ["other"]
    assert backend.put_new(KEY, b"one")


def test_a_file_in_the_place_of_a_directory_is_a_clear_error(backend: LocalBackend) -> None:
    Path(backend.root).mkdir()
    Path(backend.root, "datasets").write_bytes(b"")
    with pytest.raises(StoreError, match="can't be written: not a directory"):
        backend.put_new(KEY, b"one")
    assert backend.get(KEY) is None


def leftover(backend: LocalBackend, owner: str, age: float) -> Path:
    path = Path(backend.root, "staging", f"{owner}~0123")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"half")
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.mark.parametrize(
    ("owner", "age", "swept"),
    [
        (f"{os.uname().nodename}-{DEAD_PID}", 120, True),
        (f"{os.uname().nodename}-{DEAD_PID}", 5, False),
        (f"{os.uname().nodename}-{os.getpid()}", 999_999, False),
        (f"elsewhere-{os.getpid()}", 3600, False),
        ("elsewhere-1", 25 * 3600, True),
        (f"{os.uname().nodename}-{'9' * 30}", 25 * 3600, True),
        ("no owner at all", 25 * 3600, True),
    ],
)
def test_what_the_dead_left_is_swept(
    backend: LocalBackend, owner: str, age: float, swept: bool
) -> None:
    path = leftover(backend, owner, age)
    assert backend.sweep_staging() == int(swept)
    assert path.exists() is not swept


def test_what_can_not_be_swept_is_left(backend: LocalBackend, tmp_path: Path) -> None:
    gone = leftover(backend, "elsewhere-1", 25 * 3600)
    folder = Path(backend.root, "staging", "folder")
    folder.mkdir()
    os.utime(folder, (0, 0))
    Path(backend.root, "staging", "link").symlink_to(tmp_path)
    assert backend.sweep_staging() == 1
    assert not gone.exists()
    assert folder.exists()
