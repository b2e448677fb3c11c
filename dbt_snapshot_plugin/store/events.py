"""Events of a dataset: builds and evidence, each written once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from dbt_snapshot_plugin.model.codec import decode, encode, sign
from dbt_snapshot_plugin.model.events import Build, BuildEnded, BuildStarted, Event
from dbt_snapshot_plugin.model.ids import format_time, new_id, now, parse_time
from dbt_snapshot_plugin.model.qa import Evidence
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.backend import Backend

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


class Events:
    def __init__(self, backend: Backend, dataset: Dataset) -> None:
        self._backend = backend
        self.dataset = dataset

    def write(self, body: BuildStarted | BuildEnded | Evidence) -> bool:
        """Stores the event; False if the very same one (same build, same report) was there."""
        event = Event(
            event_id=new_id(),
            env=self.dataset.env,
            unique_id=self.dataset.unique_id,
            written_at=format_time(now()),
            body=body,
        )
        return self._backend.put_new(self._key(body), encode(sign(event)))

    def _key(self, body: BuildStarted | BuildEnded | Evidence) -> str:
        if isinstance(body, Evidence):
            moment = parse_time(body.observed_at) if body.observed_at else _EPOCH
            name = body.report_sha256[:32]
            return layout.event_key(self.dataset, "evidence", _microseconds(moment), name)
        part = "ended" if isinstance(body, BuildEnded) else "started"
        moment = parse_time(body.started_at)
        name = f"{body.build_id}-{part}"
        return layout.event_key(self.dataset, "build", _microseconds(moment), name)

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
        return next(self.builds(), None)

    def evidence(self) -> list[Evidence]:
        return [e.body for e in self._read("evidence") if isinstance(e.body, Evidence)]

    def keys(self, kind: str) -> Iterator[str]:
        prefix = layout.events_prefix(self.dataset, kind)
        return (f"{prefix}/{name}" for name in self._backend.names(prefix))

    def read(self, key: str) -> Event:
        data = self._backend.get(key)
        return decode(data or b"", Event, f"{self._backend.root}/{key}")

    def _read(self, kind: str) -> Iterator[Event]:
        return (self.read(key) for key in self.keys(kind))


def _microseconds(moment: dt.datetime) -> int:
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)
