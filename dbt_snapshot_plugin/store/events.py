"""Events of a dataset: builds and evidence, each written once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from dbt_snapshot_plugin.model.codec import canonical_json, decode, seal, sha256_hex
from dbt_snapshot_plugin.model.errors import CorruptRecordError
from dbt_snapshot_plugin.model.events import Build, BuildEnded, BuildStarted, Event
from dbt_snapshot_plugin.model.ids import format_time, new_id, now, parse_time
from dbt_snapshot_plugin.model.qa import Evidence
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.backend import Backend

Body = BuildStarted | BuildEnded | Evidence
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


class Events:
    def __init__(self, backend: Backend, dataset: Dataset) -> None:
        self._backend = backend
        self.dataset = dataset

    def write(self, body: Body) -> bool:
        """Stores the event; False if the very same one (same build, same report) was there."""
        event = Event(
            event_id=new_id(),
            env=self.dataset.env,
            unique_id=self.dataset.unique_id,
            written_at=format_time(now()),
            body=body,
        )
        key = self._key(body)
        _, data = seal(event, f"{self._backend.root}/{key}")
        return self._backend.put_new(key, data)

    def _key(self, body: Body) -> str:
        """Follows from the content alone: a second write of the same event meets the first."""
        if isinstance(body, Evidence):
            moment = _microseconds(body.observed_at) if body.observed_at else 0
            return layout.event_key(self.dataset, "evidence", moment, _evidence_name(body))
        part = "ended" if isinstance(body, BuildEnded) else "started"
        name = f"{body.build_id}-{part}"
        return layout.event_key(self.dataset, "build", _microseconds(body.started_at), name)

    def builds(self) -> Iterator[Build]:
        """Newest first; a build without an end is one that is running or died."""
        started: BuildStarted | None = None
        ends: dict[str, BuildEnded] = {}
        for event in self._read("build"):
            if isinstance(event.body, BuildEnded):
                ends[event.body.build_id] = event.body
            elif isinstance(event.body, BuildStarted):
                started = event.body
                yield Build(started=started, ended=ends.pop(started.build_id, None))

    def last_build(self) -> Build | None:
        """The newest build that may have changed the relation."""
        return next((build for build in self.builds() if build.touched), None)

    def evidence(self) -> list[Evidence]:
        return [e.body for e in self._read("evidence") if isinstance(e.body, Evidence)]

    def keys(self, kind: str) -> Iterator[str]:
        prefix = layout.events_prefix(self.dataset, kind)
        return (f"{prefix}/{name}" for name in self._backend.names(prefix))

    def read(self, key: str) -> Event:
        """The event under a key; one that lies where it does not belong counts as damaged."""
        where = f"{self._backend.root}/{key}"
        event = decode(self._backend.get(key) or b"", Event, where)
        home = Dataset(event.env, event.unique_id)
        if home == self.dataset and self._key(event.body) == key:
            return event
        raise CorruptRecordError(
            f"this event of {home} lies in the wrong place",
            where=where,
            next_step="restore this file from a backup, or move it away",
        )

    def _read(self, kind: str) -> Iterator[Event]:
        return (self.read(key) for key in self.keys(kind))


def _evidence_name(body: Evidence) -> str:
    """One per report, suite and data: two broken reports can have the same bytes, and a report
    that could not be bound when it came may be bound once what it judged has been captured."""
    parts = [body.source, body.suite, body.report_sha256, body.data_sha]
    return sha256_hex(canonical_json(parts))[:32]


def _microseconds(text: str) -> int:
    return (parse_time(text) - _EPOCH) // dt.timedelta(microseconds=1)
