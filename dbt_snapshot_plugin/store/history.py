"""A dataset's history: strictly linear, appended by put-if-absent, never rewritten."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from dbt_snapshot_plugin.model.codec import decode, seal
from dbt_snapshot_plugin.model.errors import CorruptRecordError, StoreError, UnknownReferenceError
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.reference import Dataset, Selector
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.backend import Backend

RETRY_SECONDS = 60.0


class History:
    def __init__(self, backend: Backend, dataset: Dataset) -> None:
        self._backend = backend
        self.dataset = dataset

    def head_seq(self) -> int:
        """The last sequence number, 0 for an empty history; its cost does not grow with it."""
        hint = self._hint()
        low = hint if hint and self._has(hint) else 0
        step = 1
        while self._has(low + step):
            low += step
            step *= 2
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._has(middle) else (low, middle)
        return low

    def head(self) -> Manifest | None:
        seq = self.head_seq()
        return self.get(seq) if seq else None

    def get(self, seq: int) -> Manifest:
        key = layout.snapshot_key(self.dataset, seq)
        data = self._backend.get(key)
        where = f"{self._backend.root}/{key}"
        if data is None:
            raise UnknownReferenceError(
                f"{self.dataset} has no snapshot number {seq}",
                next_step=f"`dbt-snapshot list {self.dataset.unique_id}` shows what is there",
            )
        manifest = decode(data, Manifest, where)
        found = (manifest.env, manifest.unique_id, manifest.seq)
        if found != (self.dataset.env, self.dataset.unique_id, seq):
            raise CorruptRecordError(
                f"this manifest belongs to {manifest.env}/{manifest.unique_id}@{manifest.seq}",
                where=where,
                next_step="restore this file from a backup",
            )
        return manifest

    def newest_first(self) -> Iterator[Manifest]:
        for seq in range(self.head_seq(), 0, -1):
            yield self.get(seq)

    def append(self, make: Callable[[Manifest | None], Manifest | None]) -> Manifest | None:
        """Commits what `make(head)` returns as the next snapshot; its objects must be there.

        `make` is asked again after every lost race, with the new head, so a change that the
        winner already brought in ends as a no-op: `make` returns None and so does this. Finding
        these very bytes under the name means that our own write came through unnoticed.
        """
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            head = self.head()
            manifest = make(head)
            if manifest is None:
                return None
            key = layout.snapshot_key(self.dataset, manifest.seq)
            self._require_complete(manifest, head, key)
            manifest, data = seal(manifest, f"{self._backend.root}/{key}")
            if self._backend.put_new(key, data) or self._backend.get(key) == data:
                self._leave_hint(manifest.seq)
                return manifest
            if time.monotonic() > deadline:
                raise StoreError(
                    f"gave up after {RETRY_SECONDS:.0f} s: other writers kept winning",
                    where=str(self.dataset),
                    next_step="run `dbt-snapshot capture` when the other builds are done",
                )
            _wait()

    def _require_complete(self, manifest: Manifest, head: Manifest | None, key: str) -> None:
        """The presence of a manifest is the commit, so all that it rests on must come first."""
        links = (manifest.seq, manifest.parent_snapshot_id, manifest.parent_record_sha256)
        wanted = (head.seq + 1, head.snapshot_id, head.record_sha256) if head else (1, None, None)
        if links != wanted:
            raise ValueError(f"{key}: this manifest does not follow the head of its history")
        if manifest.profile and not self._backend.exists(
            layout.object_key(manifest.profile.sha256)
        ):
            raise ValueError(f"{key}: the profile must be stored before its manifest")

    def select(self, selector: Selector) -> Manifest:
        """The snapshot that a reference means; a sha means its newest entry."""
        head = self.head_seq()
        if not head:
            raise UnknownReferenceError(
                f"{self.dataset} has no snapshot yet",
                next_step="build it with the hook on (`dbt run`), or run `dbt-snapshot capture`",
            )
        if selector.back is not None and head > selector.back:
            return self.get(head - selector.back)
        if selector.seq is not None and 1 <= selector.seq <= head:
            return self.get(selector.seq)
        if selector.uuid:
            for manifest in self.newest_first():
                if selector.uuid == manifest.snapshot_id:
                    return manifest
        if selector.sha and (found := self._by_sha(selector.sha)):
            return found
        raise UnknownReferenceError(
            f"{self.dataset} has no snapshot @{selector} (its last one is {head})",
            next_step=f"`dbt-snapshot list {self.dataset.unique_id}` shows what is there",
        )

    def _by_sha(self, prefix: str) -> Manifest | None:
        """The newest entry of the one version whose sha begins like this."""
        found: dict[str, Manifest] = {}
        for manifest in self.newest_first():
            if manifest.metadata_sha.startswith(prefix):
                found.setdefault(manifest.metadata_sha, manifest)
        if len(found) > 1:
            listing = ", ".join(f"{sha[:16]} (at {m.seq})" for sha, m in sorted(found.items()))
            raise UnknownReferenceError(
                f"{prefix!r} is ambiguous in {self.dataset}: {listing}",
                next_step="write more characters of the one that is meant",
            )
        return next(iter(found.values()), None)

    def _leave_hint(self, seq: int) -> None:
        """The snapshot is committed by now: a hint that can't be written must not undo that."""
        with contextlib.suppress(StoreError):
            self._backend.put(layout.hint_key(self.dataset), str(seq).encode())

    def _has(self, seq: int) -> bool:
        return self._backend.exists(layout.snapshot_key(self.dataset, seq))

    def _hint(self) -> int:
        """Only a place to begin: it may be old, garbage or unreadable."""
        data = None
        with contextlib.suppress(StoreError):
            data = self._backend.get(layout.hint_key(self.dataset))
        return int(data) if data and data.isdigit() and len(data) <= 8 else 0


def _wait() -> None:
    """A random moment, so that two writers that met do not meet again."""
    import random

    time.sleep(random.uniform(0.005, 0.1))
