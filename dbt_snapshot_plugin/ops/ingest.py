"""`qa ingest`: Great Expectations results become evidence about the data that they judged.

Every file ends in a row: what it says of which dataset and on what basis, or why it says nothing.
Without a store the results are only judged by themselves.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbt_snapshot_plugin.bridges.gx_files import (
    Found,
    find_results,
    path_suite,
    path_time,
    suite_file,
)
from dbt_snapshot_plugin.bridges.gx_results import (
    GxResult,
    NotAResultError,
    Subject,
    UnreadableResultError,
    read_result,
)
from dbt_snapshot_plugin.model.codec import sha256_hex, to_plain
from dbt_snapshot_plugin.model.errors import EvidenceError
from dbt_snapshot_plugin.model.graph import Graph
from dbt_snapshot_plugin.model.ids import now
from dbt_snapshot_plugin.model.qa import Basis, Code, Counts, Evidence, State, fold
from dbt_snapshot_plugin.ops.desk import Desks
from dbt_snapshot_plugin.ops.evidence import ITSELF, alone, bind, unreadable
from dbt_snapshot_plugin.ops.mapping import Known, Unmapped, explicit_ids, map_result
from dbt_snapshot_plugin.store.repository import Repository

Progress = Callable[[int, int], None]
_REASON_LIMIT = 400
_NO_SNAPSHOT = "it has no dataset snapshot yet; run `dbt-snapshot capture`, then this again"


@dataclass(frozen=True)
class Row:
    """What became of one file."""

    file: str
    suite: str | None
    dataset: str | None
    state: State
    reason: str | None
    basis: Basis | None = None
    counts: Counts | None = None
    code: Code | None = None
    stored: bool = False
    """Whether this ingestion wrote it."""
    known: bool = False
    """Whether an earlier one had."""
    unreadable: bool = False

    def to_dict(self) -> dict[str, Any]:
        names = ("file", "suite", "dataset", "state", "reason", "basis")
        counts = to_plain(self.counts) if self.counts is not None else None
        return {**{name: getattr(self, name) for name in names}, "counts": counts}


@dataclass(frozen=True)
class Ingestion:
    rows: list[Row]
    dry_run: bool

    @property
    def unreadable(self) -> list[Row]:
        return [row for row in self.rows if row.unreadable]

    @property
    def unmapped(self) -> list[Row]:
        return [row for row in self.rows if row.dataset is None]

    def to_dict(self) -> dict[str, Any]:
        return {"results": [row.to_dict() for row in self.rows]}


def ingest(
    repo: Repository | None,
    paths: Sequence[Path],
    *,
    graph: Graph | None = None,
    env: str | None = None,
    mapping: Mapping[str, str] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Ingestion:
    """Takes in the results among `paths`; what was taken in before is not written again.

    `mapping` gives suites or assets to datasets (qa.map). Broken files come last: whose they are
    may follow from what their suite has judged before.
    """
    files = find_results(list(paths))
    run = _Run(Desks(repo, graph, env), mapping or {}, writes=repo is not None and not dry_run)
    rows: dict[int, Row] = {}
    broken: list[tuple[int, UnreadableResultError]] = []
    for index, file in enumerate(files):
        try:
            rows[index] = run.take(_read(file))
        except NotAResultError as error:
            if file.named:
                reason = f"{error.what}; name a file of a validation result"
                shown = shown_path(os.path.abspath(file.path))  # noqa: PTH100
                rows[index] = Row(shown, None, None, "UNKNOWN", reason, unreadable=True)
        except UnreadableResultError as error:
            broken.append((index, error))
        if progress is not None:
            progress(index + 1, len(files))
    for index, refused in broken:
        rows[index] = run.take_broken(refused)
    return Ingestion([rows[index] for index in sorted(rows)], dry_run=not run.writes)


def _read(file: Found) -> GxResult:
    where = _text(os.path.abspath(file.path))  # noqa: PTH100 - links stay links
    if file.refused is not None:
        raise UnreadableResultError(file.refused, where=where, sha256=sha256_hex(where.encode()))
    return read_result(file.path, where)


@dataclass
class _Run:
    """One ingestion."""

    desks: Desks
    mapping: Mapping[str, str]
    writes: bool

    def take(self, result: GxResult) -> Row:
        """A result that can be read."""
        subject, desks = result.subject, self.desks
        report = shown_path(subject.where)
        try:
            told = _told(subject)
        except EvidenceError as error:
            row = _unmapped(subject, f"{error.what} ({error.where})", result.counts)
            return replace(row, unreadable=True)
        if desks.repo is None and not desks.known:
            ids = explicit_ids(subject, told)
            return _row(alone(result, report, now()), ids[0] if len(ids) == 1 else None)
        found = map_result(subject, desks.known, suite_meta=told, mapping=self.mapping)
        if isinstance(found, Unmapped):
            return _unmapped(subject, found.reason, result.counts, found.code)
        known = found.known
        if desks.repo is None:
            return _row(alone(result, report, now()), known.label)
        if not known.captured:
            row = _unmapped(subject, _NO_SNAPSHOT, result.counts, "uncaptured")
            return replace(row, dataset=known.label)
        evidence = bind(result, desks, found, report, now())
        if isinstance(evidence, Unmapped):
            return _unmapped(subject, evidence.reason, result.counts, evidence.code)
        return self._settle(evidence, known)

    def take_broken(self, error: UnreadableResultError) -> Row:
        """One that can't be: it is a doubt about the dataset that it still points at."""
        where, reason = str(error.where), _short(error.what)
        report = shown_path(where)
        subject = error.subject or _subject_of_path(where, error.sha256)
        row = Row(report, None, None, "UNKNOWN", reason, unreadable=True)
        if subject is None:
            return row
        row = replace(row, suite=subject.suite)
        told = None
        with contextlib.suppress(EvidenceError):
            told = _told(subject)
        found = map_result(subject, self.desks.known, suite_meta=told, mapping=self.mapping)
        if isinstance(found, Unmapped):
            found = self.desks.judged_before(subject) or found
        if isinstance(found, Unmapped):
            return replace(row, reason=f"{reason}; {found.reason}", code=found.code)
        row = replace(row, dataset=found.known.label, code="unreadable")
        if self.desks.repo is None or not found.known.captured:
            return row
        evidence = unreadable(subject, reason, found.by, report, now())
        settled = self._settle(evidence, found.known)
        return replace(settled, unreadable=True, counts=None, reason=reason)

    def _settle(self, evidence: Evidence, known: Known) -> Row:
        """Stores the evidence unless the same report was taken in before."""
        desk = self.desks.of(known.dataset)
        settled, seen = desk.settled(evidence)
        stored = not seen and self.writes and desk.add(settled)
        row = _row(settled, known.label)
        return replace(row, file=evidence.report, stored=stored, known=seen)


def _row(evidence: Evidence, dataset: str | None) -> Row:
    """What this one result says, by the rule that also folds all of them."""
    status = fold([evidence], evidence.data_sha or ITSELF)
    reason = status.reasons[0] if status.reasons else None
    return Row(
        file=evidence.report,
        suite=evidence.suite,
        dataset=dataset,
        state=status.state,
        reason=reason.text if reason else None,
        basis=evidence.basis,
        counts=evidence.counts,
        code=reason.code if reason else None,
    )


def _unmapped(subject: Subject, reason: str, counts: Counts, code: Code | None = None) -> Row:
    report = shown_path(subject.where)
    return Row(report, subject.suite, None, "UNKNOWN", _short(reason), counts=counts, code=code)


def _told(subject: Subject) -> str | None:
    """The dbt_unique_id in the suite's own file, where the result lies in a GX project."""
    suite = suite_file(Path(subject.where), subject.suite)
    return suite.unique_id if suite else None


def _subject_of_path(where: str, sha256: str) -> Subject | None:
    """GX makes directories of the dots in a suite's name and refuses slashes, so they tell it."""
    suite = path_suite(where)
    if suite is None:
        return None
    moment = path_time(where)
    name = suite.replace("/", ".")
    return Subject(where, sha256, name, observed_at=moment, finished_at=moment)


def shown_path(path: str | Path) -> str:
    """From the working directory if it lies below it; always text that can be stored."""
    here = Path.cwd()
    found = Path(path)
    short = found.relative_to(here) if found.is_absolute() and here in found.parents else found
    return _text(short)


def _text(path: str | Path) -> str:
    """A file's name need not be UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _short(reason: str) -> str:
    """Reasons may quote a hostile file."""
    return reason if len(reason) <= _REASON_LIMIT else reason[: _REASON_LIMIT - 1] + "…"
