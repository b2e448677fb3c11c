"""The effective qa_status: the fold of what the store knows now, not what was frozen at commit."""

from __future__ import annotations

from functools import cached_property

import msgspec

from dbt_snapshot_plugin.model.events import Build
from dbt_snapshot_plugin.model.ids import parse_time
from dbt_snapshot_plugin.model.manifest import SCHEMA_ALGO, Manifest
from dbt_snapshot_plugin.model.qa import Evidence, QaStatus, Reason, State, fold
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.store.repository import Repository

_WORST_FIRST: tuple[State, ...] = ("FAIL", "UNKNOWN", "PASS")


def effective_status(repo: Repository, manifest: Manifest) -> QaStatus:
    """The verdict on this snapshot; an event that can't be read raises."""
    return Verdicts(repo, Dataset(manifest.env, manifest.unique_id)).of(manifest)


class Verdicts:
    """The verdicts on one dataset's snapshots; its events are read once."""

    def __init__(self, repo: Repository, dataset: Dataset) -> None:
        self._repo = repo
        self._history = repo.history(dataset)
        self._events = repo.events(dataset)

    @cached_property
    def _evidence(self) -> list[Evidence]:
        return self._events.evidence()

    @cached_property
    def _last_build(self) -> Build | None:
        return self._events.last_build()

    @cached_property
    def _head_seq(self) -> int:
        return self._history.head_seq()

    def of(self, manifest: Manifest, successor: Manifest | None = None) -> QaStatus:
        """`successor` saves reading the next snapshot again where the caller has it."""
        if manifest.seq >= self._head_seq:
            why = why_uncaptured(manifest, self._last_build)
            build = self._last_build
            since = build.data_since if build is not None else None
            if why is None and since is not None and manifest.source_type == "view":
                why = moved_below(self._repo, manifest, since)
            told = about_build(self._evidence, manifest.hash_algo, since)
            return fold(told, manifest.data_sha, uncaptured=why)
        following = successor or self._history.get(manifest.seq + 1)
        return fold(self._before(following, manifest.data_sha), manifest.data_sha)

    def _before(self, successor: Manifest, data_sha: str) -> list[Evidence]:
        """What was said of this data, or while it was the newest.

        A suite that came only after the next snapshot was committed has nothing to say of an
        older one, and must not turn its verdict into a doubt.
        """
        end = parse_time(successor.created_at)
        return [
            e
            for e in self._evidence
            if e.data_sha == data_sha or not e.latest_at or parse_time(e.latest_at) < end
        ]


def why_uncaptured(head: Manifest, build: Build | None) -> str | None:
    """Why the relation may hold other data than HEAD says, or None if it does not."""
    if build is None:
        return None
    began = f"the build that started at {build.started.started_at} ({build.started.command})"
    ended = build.ended
    if ended is None:
        return f"{began} has not ended, so nothing is known of what the relation holds now"
    if not ended.captured:
        reason = f": {' '.join(ended.reason.split())}" if ended.reason else ""
        return f"{began} ended with status {ended.status} and no capture ({ended.outcome}{reason})"
    if ended.snapshot_id != head.snapshot_id:
        return f"{began} left snapshot {ended.seq}, which is not HEAD ({head.seq})"
    return None


def moved_below(repo: Repository, view: Manifest, since: str) -> str | None:
    """A view shows other data as soon as what it reads is built anew; None if that left the same.

    `since` is when the view was last looked at.
    """
    for parent in view.parents:
        for build in repo.events(Dataset(view.env, parent.unique_id)).builds():
            if build.started.started_at <= since:
                break
            same = parent.data_sha is not None and build.ended is not None
            if same and build.ended is not None and build.ended.data_sha == parent.data_sha:
                continue
            if build.touched:
                return (
                    f"it is a view, and {parent.unique_id} below it was built anew at "
                    f"{build.started.started_at}: build the view again, or capture it"
                )
    return None


def about_build(evidence: list[Evidence], hash_algo: str, since: str | None) -> list[Evidence]:
    """What may count for what the last build left, which is there `since` then.

    A data_sha over the schema alone is the same for other rows, so what was said before that
    build was said of something else. `since` None: nothing has been said yet.
    """
    if hash_algo != SCHEMA_ALGO:
        return evidence
    return [e if _is_later(e, since) else _superseded(e) for e in evidence]


def _is_later(evidence: Evidence, since: str | None) -> bool:
    if evidence.data_sha is None:
        return True  # a doubt stays one
    told = evidence.observed_at
    return since is not None and told is not None and parse_time(told) >= parse_time(since)


def _superseded(evidence: Evidence) -> Evidence:
    return msgspec.structs.replace(evidence, data_sha="")


def combined_status(statuses: list[tuple[str, QaStatus]]) -> QaStatus:
    """Several datasets as one: any FAIL is FAIL, else any UNKNOWN is UNKNOWN, else PASS."""
    found = {status.state for _, status in statuses}
    state: State = next((s for s in _WORST_FIRST if s in found), "UNKNOWN")
    ranked = sorted(statuses, key=lambda pair: (_WORST_FIRST.index(pair[1].state), pair[0]))
    bad = [(name, status) for name, status in ranked if status.state != "PASS"]
    if not statuses:
        summary = "no dataset has a snapshot"
    elif not bad:
        summary = f"all {len(statuses)} datasets pass"
    else:
        summary = "; ".join(f"{name}: {s.state} ({s.summary})" for name, s in bad[:3])
        if len(bad) > 3:
            summary += f" (+{len(bad) - 3} more)"
    reasons = [
        Reason(code=reason.code, text=f"{name}: {reason.text}")
        for name, status in bad
        for reason in status.reasons
    ]
    invariants: dict[str, int | float] = {
        f"{name}.{key}": value
        for name, status in ranked
        for key, value in status.invariants.items()
    }
    return QaStatus(
        state=state,
        summary=summary,
        invariants=invariants,
        provisional=state != "PASS",
        reasons=reasons,
    )
