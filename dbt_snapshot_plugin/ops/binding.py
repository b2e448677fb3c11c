"""Which snapshot a QA result judged: by the dbt run that it names, else by its time.

A build makes the data uncertain from its start to its end. A result counts for what a build left
only if it lies wholly between that build's end and the next build's start, or names the dbt run
inside which the build was captured and does not contradict it. Everything else is a doubt.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dbt_snapshot_plugin.model.events import Build
from dbt_snapshot_plugin.model.ids import parse_time
from dbt_snapshot_plugin.model.manifest import Manifest, SourceFiles
from dbt_snapshot_plugin.model.qa import Basis, Code

CLOCK_TOLERANCE = dt.timedelta(minutes=5)
_NEVER = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
Compared = Literal["rows", "listing", "rows+listing", "not_compared"]


@dataclass(frozen=True)
class Span:
    """One build, and when the relation held what it left."""

    build: Build
    started: dt.datetime
    since: dt.datetime | None
    """None while the build has not ended."""
    until: dt.datetime | None
    """When the next build may have touched the relation; None for the last one."""
    overlapped: bool = False
    """An earlier build ended after this one: nobody knows which of the two wrote last."""

    @property
    def captured(self) -> bool:
        ended = self.build.ended
        clear = ended is not None and ended.captured and ended.seq is not None
        return clear and not self.overlapped

    @property
    def begun(self) -> dt.datetime:
        """From when on the relation may have changed, as far as it is known."""
        built_at = self.build.started.built_at
        return min(self.started, parse_time(built_at)) if built_at else self.started

    @property
    def data_sha(self) -> str | None:
        ended = self.build.ended
        return ended.data_sha if ended is not None and ended.captured else None

    @property
    def invocation_id(self) -> str | None:
        ended = self.build.ended
        return self.build.started.invocation_id or (ended.invocation_id if ended else None)


@dataclass(frozen=True)
class Times:
    """When a result looked at the data, and until when the data must have stood still."""

    observed: dt.datetime | None
    finished: dt.datetime | None

    def problem(self, now: dt.datetime) -> str | None:
        """Why these times can't be believed, or None."""
        if self.observed is None:
            return "it names no time at which it looked at the data"
        if self.latest > now + CLOCK_TOLERANCE:
            return f"its time {show(self.latest)} lies in the future"
        return None

    @property
    def earliest(self) -> dt.datetime:
        assert self.observed is not None
        return self.observed

    @property
    def latest(self) -> dt.datetime:
        return max(self.earliest, self.finished or self.earliest)


@dataclass(frozen=True)
class Placed:
    span: Span
    basis: Basis


@dataclass(frozen=True)
class Unplaced:
    code: Code
    reason: str


def spans(builds: Sequence[Build]) -> list[Span]:
    """From builds, newest first; those that left the relation alone are passed over."""
    touched = [build for build in builds if build.touched]
    found: list[Span] = []
    until: dt.datetime | None = None
    for build, before in zip(touched, _before(touched), strict=True):
        started = parse_time(build.started.started_at)
        since = _since(build, started, before)
        ended = build.ended
        overlapped = ended is not None and before.ended > parse_time(ended.ended_at)
        span = Span(build, started, since, until, overlapped)
        until = span.begun if until is None else min(span.begun, until)
        found.append(span)
    return found


@dataclass(frozen=True)
class _Before:
    """Of all builds that began earlier: the last end, and the last start that has no end."""

    ended: dt.datetime = _NEVER
    left_open: dt.datetime = _NEVER


def _before(newest_first: Sequence[Build]) -> list[_Before]:
    found: list[_Before] = []
    known = _Before()
    for build in reversed(newest_first):
        found.append(known)
        if build.ended is not None:
            known = replace(known, ended=max(known.ended, parse_time(build.ended.ended_at)))
        else:
            known = replace(known, left_open=parse_time(build.started.started_at))
    return found[::-1]


def _since(build: Build, started: dt.datetime, before: _Before) -> dt.datetime | None:
    """A capture after the fact says when dbt had built; what was built after that undoes it."""
    if build.data_since is None:
        return None
    since = parse_time(build.data_since)
    if before.left_open >= since:
        since = started
    return max(since, before.ended)


def place(times: Times, run_name: str | None, history: Sequence[Span]) -> Placed | Unplaced:
    """The build whose outcome was judged; `times` must be believable."""
    observed, finished = times.earliest, times.latest
    if run_name and (inside := [s for s in history if s.invocation_id == run_name]):
        return _by_invocation(observed, finished, inside, history)
    return _by_time(observed, finished, history)


def _by_invocation(
    observed: dt.datetime, finished: dt.datetime, inside: list[Span], history: Sequence[Span]
) -> Placed | Unplaced:
    """Named after a dbt run: strong, unless that run left different data or none."""
    captured = [span for span in inside if span.captured]
    if not captured:
        return _uncaptured(inside[0])
    if len({span.data_sha for span in captured}) > 1:
        return _by_time(observed, finished, history)
    for span in captured:
        begun = min(span.started, span.since or span.started)
        if observed >= begun and (span.until is None or finished < span.until):
            return Placed(span, "invocation")
    return Unplaced(
        "stale",
        f"it names the dbt run {captured[0].invocation_id}, but its time {show(observed)} lies "
        "before that build or after the next one began",
    )


def _by_time(
    observed: dt.datetime, finished: dt.datetime, history: Sequence[Span]
) -> Placed | Unplaced:
    for span in history:
        if span.since is not None and observed >= span.since:
            if span.until is not None and finished >= span.until:
                reason = f"the build of {show(span.until)} began before it was done"
                return Unplaced("stale", f"{reason} ({show(finished)})")
            return Placed(span, "time") if span.captured else _uncaptured(span)
        if observed >= span.started:
            if span.since is None:
                return _uncaptured(span)
            reason = f"it looked at the data at {show(observed)}, while the build of "
            return Unplaced("stale", f"{reason}{show(span.started)} was still running")
    return Unplaced("stale", f"its time {show(observed)} is older than every recorded build")


def _uncaptured(span: Span) -> Unplaced:
    ended = span.build.ended
    what = f"the build of {show(span.started)} ({span.build.started.command})"
    if ended is None:
        return Unplaced("uncaptured", f"{what} has not ended, so what was judged is not recorded")
    if span.overlapped:
        return Unplaced("uncaptured", f"{what} overlapped with another build of this dataset")
    cause = f": {ended.reason}" if ended.reason else ""
    return Unplaced("uncaptured", f"{what} ended without a dataset snapshot{cause}")


def compare(
    manifest: Manifest,
    files_then: SourceFiles | None,
    judged_rows: int | None,
    live: Callable[[], SourceFiles | None] | None,
) -> tuple[Compared, str | None]:
    """What was compared with the snapshot, and why the result is not about its data, or None.

    `files_then` are the relation's files as the judged build left them: an equal rebuild writes
    other files than the manifest's, and no new snapshot. `live` lists the files that are there
    now; None where that build was not the last one, so that they are expected to be others.
    """
    rows = judged_rows is not None and manifest.num_rows is not None
    if rows and judged_rows != manifest.num_rows:
        told = f"it judged {judged_rows:,} rows, snapshot {manifest.seq} has {manifest.num_rows:,}"
        return "rows", f"{told}: not this data"
    files = live() if live is not None and files_then is not None else None
    if files is None:
        return ("rows" if rows else "not_compared"), None
    compared: Compared = "rows+listing" if rows else "listing"
    if files != files_then:
        return compared, (
            f"the relation's files are no longer those of snapshot {manifest.seq}: "
            "something else than a recorded build has written to it"
        )
    return compared, None


def show(moment: dt.datetime) -> str:
    return moment.astimezone(dt.timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
