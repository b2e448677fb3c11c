"""The local backend: durable, atomic, and never through a symbolic link.

A commit is: write a temporary file inside the root, fsync it, `link` it to its final name (the
kernel refuses if the name exists), fsync the directory. A crash at any point leaves either no
file under the final name or the whole one.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path

from dbt_snapshot_plugin.model.errors import StoreError

STAGING = "staging"


class LocalBackend:
    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would follow links

    @property
    def root(self) -> str:
        return str(self._root)

    def put_new(self, key: str, data: bytes) -> bool:
        with self._writing(key):
            target = self._prepare(key)
            if target.exists():
                return False
            temporary = self._write_temporary(data)
            try:
                os.link(temporary, target)
            except FileExistsError:
                return False
            finally:
                temporary.unlink(missing_ok=True)
            _sync_directory(target.parent)
            return True

    def put(self, key: str, data: bytes) -> None:
        with self._writing(key):
            target = self._prepare(key)
            temporary = self._write_temporary(data)
            try:
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)

    def get(self, key: str) -> bytes | None:
        with self._reading(key):
            try:
                descriptor = os.open(self._path(key), os.O_RDONLY | os.O_NOFOLLOW)
            except (FileNotFoundError, NotADirectoryError):
                return None
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise IsADirectoryError(21, "a directory lies where a file should")
            with os.fdopen(descriptor, "rb") as file:
                return file.read()

    def exists(self, key: str) -> bool:
        with self._reading(key):
            return self._path(key).exists()

    def names(self, prefix: str) -> Iterator[str]:
        found: list[str] = []
        with self._reading(prefix), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            path = self._path(prefix) if prefix else self._root
            found = sorted(os.listdir(path))  # noqa: PTH208 - names, not paths
        yield from found

    def delete(self, key: str) -> None:
        with self._writing(key):
            self._path(key).unlink(missing_ok=True)

    def sweep_staging(self) -> int:
        """Removes temporary files whose writer is gone; says how many."""
        swept = 0
        host = socket.gethostname()
        for name in self.names(STAGING):
            owner, _, pid = name.partition("~")[0].rpartition("-")
            if owner == host and pid.isdigit() and not _alive(int(pid)):
                self.delete(f"{STAGING}/{name}")
                swept += 1
        return swept

    def _path(self, key: str) -> Path:
        """Refuses a key that leaves the root and a path that goes through a link."""
        path = self._root
        for part in key.split("/"):
            if part in {"", ".", ".."} or "\\" in part or "\0" in part:
                raise StoreError(f"the key {key!r} leaves the store", where=self.root)
            path = path / part
            if path.is_symlink():
                raise StoreError(
                    "a symbolic link lies in the store; links are not followed",
                    where=str(path),
                    next_step="replace it with the file or directory itself",
                )
        return path

    def _prepare(self, key: str) -> Path:
        path = self._path(key)
        _make_directories(path.parent, self._root)
        return path

    def _write_temporary(self, data: bytes) -> Path:
        directory = self._root / STAGING
        _make_directories(directory, self._root)
        path = directory / f"{socket.gethostname()}-{os.getpid()}~{uuid.uuid4().hex}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path

    @contextlib.contextmanager
    def _writing(self, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"the store can't be written: {error.strerror or error}",
                where=str(self._root / key),
                next_step="make it writable, or set DBT_SNAPSHOT_ROOT to a place that is",
            ) from error

    @contextlib.contextmanager
    def _reading(self, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"the store can't be read: {error.strerror or error}",
                where=str(self._root / key),
                next_step="check its permissions, or set DBT_SNAPSHOT_ROOT",
            ) from None


def _make_directories(path: Path, root: Path) -> None:
    """Creates what is missing and makes each new name durable in its parent."""
    missing = []
    current = path
    while not current.exists():
        missing.append(current)
        current = current.parent
    if not stat.S_ISDIR(current.stat().st_mode):
        raise NotADirectoryError(20, "not a directory", str(current))
    for directory in reversed(missing):
        directory.mkdir(exist_ok=True)
        if root in directory.parents or directory == root:
            _sync_directory(directory.parent)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
