"""A dataset's history: strictly linear, appended by put-if-absent, never rewritten."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator

from dbt_snapshot_plugin.model.codec import decode, encode, sign
from dbt_snapshot_plugin.model.errors import CorruptRecordError, StoreError, UnknownReferenceError
from dbt_snapshot_plugin.model.manifest import Manifest, check_version
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
        check_version(manifest.format_version, where)
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
        """Commits what `make(head)` returns as the next snapshot.

        `make` is asked again after every lost race, with the new head, so a change that the
        winner already brought in ends as a no-op: `make` returns None and so does this.
        """
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            head = self.head()
            manifest = make(head)
            if manifest is None:
                return None
            manifest = sign(manifest)
            data = encode(manifest)
            key = layout.snapshot_key(self.dataset, manifest.seq)
            if self._backend.put_new(key, data) or self._backend.get(key) == data:
                self._leave_hint(manifest.seq)
                return manifest
            if time.monotonic() > deadline:
                raise StoreError(
                    f"gave up after {RETRY_SECONDS:.0f} s: other writers kept winning",
                    where=str(self.dataset),
                    next_step="run `dbt-snapshot capture` when the other builds are done",
                )
            time.sleep(random.uniform(0.005, 0.1))

    def select(self, selector: Selector) -> Manifest:
        """The snapshot that a reference means; a sha means its newest entry."""
        head = self.head_seq()
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
            f"{self.dataset} has no such snapshot (it has {head})",
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
        data = self._backend.get(layout.hint_key(self.dataset)) or b""
        return int(data) if data.isdigit() and len(data) <= 8 else 0
