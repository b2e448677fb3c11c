"""The local backend: durable, atomic, and never through a symbolic link.

A commit is: write a temporary file inside the root, fsync it, `link` it to its final name (the
kernel refuses if the name exists), fsync the directory. A crash at any point leaves either no
file under the final name or the whole one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from dbt_snapshot_plugin.model.errors import CorruptRecordError, StoreError
from dbt_snapshot_plugin.store.layout import STAGING

GRACE_SECONDS = 60
DEAD_AFTER_SECONDS = 24 * 3600
# What `link` answers on a file system without hard links (FAT, some network and FUSE mounts).
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EXDEV}


class LocalBackend:
    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would follow links

    @property
    def root(self) -> str:
        return str(self._root)

    def put_new(self, key: str, data: bytes) -> bool:
        with self._writing(key):
            target = self._prepare(key)
            if self._is_file(target):
                _sync_directory(target.parent)  # who built on it must not lose it in a power cut
                return False
            temporary = self._write_temporary(data)
            try:
                self._link(temporary, target)
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
            path = self._path(key)
            if not self._is_file(path):
                return None
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            except FileNotFoundError:
                return None
            with os.fdopen(descriptor, "rb") as file:
                return file.read()

    def exists(self, key: str) -> bool:
        with self._reading(key):
            return self._is_file(self._path(key))

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
        """Removes temporary files whose writer is gone; says how many.

        Nothing here is worth failing for: the files are in nobody's way.
        """
        swept = 0
        for name in self.names(STAGING):
            with contextlib.suppress(StoreError, OSError):
                if _is_dead(name, self._path(f"{STAGING}/{name}")):
                    self.delete(f"{STAGING}/{name}")
                    swept += 1
        return swept

    def _path(self, key: str) -> Path:
        """Refuses a key that leaves the root and a path that goes through a link."""
        parts = key.split("/")
        if any(part in {"", ".", ".."} or "\\" in part or "\0" in part for part in parts):
            raise StoreError(f"the key {key!r} leaves the store", where=self.root)
        path = self._root
        for part in parts:
            path = path / part
            mode = _mode(path)
            if mode is None:
                return self._root / key
            if stat.S_ISLNK(mode):
                raise CorruptRecordError(
                    "a symbolic link lies in the store; links are not followed",
                    where=str(path),
                    next_step="replace it with the file or directory itself",
                )
        return path

    def _is_file(self, path: Path) -> bool:
        """False if nothing is there; anything but a plain file has no business in a store."""
        mode = _mode(path)
        if mode is not None and not stat.S_ISREG(mode):
            raise CorruptRecordError(
                "something else lies where a file of the store belongs",
                where=str(path),
                next_step="move it away",
            )
        return mode is not None

    def _prepare(self, key: str) -> Path:
        path = self._path(key)
        _make_directories(path.parent, self._root)
        return path

    def _write_temporary(self, data: bytes) -> Path:
        directory = self._path(STAGING)
        _make_directories(directory, self._root)
        path = directory / f"{os.uname().nodename}-{os.getpid()}~{os.urandom(16).hex()}"
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

    def _link(self, temporary: Path, target: Path) -> None:
        try:
            os.link(temporary, target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            raise StoreError(
                "the store's file system has no hard links, and without them a commit can't be "
                f"all or nothing ({error.strerror})",
                where=self.root,
                next_step="set DBT_SNAPSHOT_ROOT to a directory on another one (ext4, xfs, …)",
            ) from error

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


def _mode(path: Path) -> int | None:
    """What lies there, links not followed; None if nothing does."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _make_directories(path: Path, root: Path) -> None:
    """Creates what is missing and makes each new name durable in its parent."""
    missing = []
    current = path
    while not current.exists():
        missing.append(current)
        current = current.parent
    if not stat.S_ISDIR(current.stat().st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a directory", str(current))
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


def _is_dead(name: str, path: Path) -> bool:
    """Whether the writer of a temporary file can't finish it any more.

    One of this machine can be asked for, after a moment's grace because a container may share the
    machine's name and not its process numbers; any other is taken for dead after a day.
    """
    age = time.time() - path.stat().st_mtime
    owner, _, pid = name.partition("~")[0].rpartition("-")
    if owner == os.uname().nodename and pid.isdecimal() and len(pid) <= 9:
        return age > GRACE_SECONDS and not _alive(int(pid))
    return age > DEAD_AFTER_SECONDS


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
