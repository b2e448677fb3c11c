"""What an ingestion needs to know of the datasets: read once, however many results there are."""

from __future__ import annotations

import datetime as dt
from functools import cached_property
from pathlib import PurePath

from dbt_snapshot_plugin.bridges.files import listing_fingerprint
from dbt_snapshot_plugin.bridges.gx_results import Subject
from dbt_snapshot_plugin.model.graph import Graph
from dbt_snapshot_plugin.model.manifest import Manifest, SourceFiles
from dbt_snapshot_plugin.model.qa import Evidence
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.ops.binding import Span, Times, show, spans
from dbt_snapshot_plugin.ops.mapping import Known, Mapped, Unmapped
from dbt_snapshot_plugin.store.repository import Repository


class Desk:
    """One dataset of the store: its builds, snapshots and evidence."""

    def __init__(self, repo: Repository, dataset: Dataset) -> None:
        self._events = repo.events(dataset)
        self._history = repo.history(dataset)
        self._manifests: dict[int, Manifest] = {}
        self.dataset = dataset

    @cached_property
    def spans(self) -> list[Span]:
        return spans(list(self._events.builds()))

    @cached_property
    def evidence(self) -> list[Evidence]:
        return self._events.evidence()

    @cached_property
    def head_seq(self) -> int:
        return self._history.head_seq()

    def manifest(self, seq: int) -> Manifest:
        if seq not in self._manifests:
            self._manifests[seq] = self._history.get(seq)
        return self._manifests[seq]

    @cached_property
    def live(self) -> SourceFiles | None:
        """The files of the relation as they are now, if they can be listed from here."""
        return listing_fingerprint(self.manifest(self.head_seq).dataset_path)

    def settled(self, found: Evidence) -> tuple[Evidence, bool]:
        """What counts of this report, and whether that was taken in before.

        A binding stays. A report that was a doubt may be bound later, when what it judged has
        been captured after the fact; but not if its time could not be believed when it came.
        """
        same = self._by_report.get(found.report_id, [])
        if not same:
            return found, False
        bound = [e for e in same if e.data_sha is not None]
        if bound:
            return bound[-1], True
        believed = any(e.observed_at == found.observed_at for e in same)
        if found.data_sha is not None and believed:
            return found, False
        return same[-1], True

    def counts(self, report_sha256: str) -> bool:
        """Whether a report with these bytes is bound to data of this dataset."""
        return report_sha256 in self._bound

    def add(self, evidence: Evidence) -> bool:
        """Stores it; False if it was there."""
        written = self._events.write(evidence)
        self._by_report.setdefault(evidence.report_id, []).append(evidence)
        if evidence.data_sha is not None:
            self._bound.add(evidence.report_sha256)
        self.evidence.append(evidence)
        return written

    @cached_property
    def _by_report(self) -> dict[tuple[str, str, str], list[Evidence]]:
        found: dict[tuple[str, str, str], list[Evidence]] = {}
        for item in self.evidence:
            found.setdefault(item.report_id, []).append(item)
        return found

    @cached_property
    def _bound(self) -> set[str]:
        return {e.report_sha256 for e in self.evidence if e.data_sha is not None}


class Desks:
    """The datasets that a result can be about: those of the store, then those of the graph."""

    def __init__(self, repo: Repository | None, graph: Graph | None, env: str | None) -> None:
        self.repo = repo
        self._graph = graph
        self._env = env
        self._desks: dict[Dataset, Desk] = {}

    @cached_property
    def _stored(self) -> list[Dataset]:
        return self.repo.datasets() if self.repo is not None else []

    @cached_property
    def known(self) -> list[Known]:
        """All candidates; a node of the graph without a snapshot is one, too."""
        found = [
            self._captured(dataset)
            for dataset in self._stored
            if self._env in {None, dataset.env} and self.of(dataset).head_seq
        ]
        there = {known.dataset.unique_id for known in found}
        return found + [k for k in self._planned() if k.dataset.unique_id not in there]

    def of(self, dataset: Dataset) -> Desk:
        assert self.repo is not None
        if dataset not in self._desks:
            self._desks[dataset] = Desk(self.repo, dataset)
        return self._desks[dataset]

    def twins(self, dataset: Dataset) -> list[Desk]:
        """The same dbt node in the other envs."""
        same = [d for d in self._stored if d.unique_id == dataset.unique_id and d != dataset]
        return [self.of(other) for other in same]

    def moved_below(self, view: Manifest, since: dt.datetime, times: Times) -> str | None:
        """What a view reads can be built anew without the view: why it may have shown other data.

        A build that left the pinned data and was over by then changed nothing.
        """
        for parent in view.parents:
            for span in self.of(Dataset(view.env, parent.unique_id)).spans:
                over = span.since is not None and span.since <= times.earliest
                same = parent.data_sha is not None and span.data_sha == parent.data_sha
                if since < span.begun <= times.latest and not (over and same):
                    return (
                        f"it is a view, and {parent.unique_id} below it was built anew at "
                        f"{show(span.begun)}, after snapshot {view.seq}"
                    )
        return None

    def judged_before(self, subject: Subject) -> Mapped | Unmapped | None:
        """Whose a broken report is, by what its suite and a report of its name judged before."""
        hits: list[tuple[Known, Evidence]] = [
            (known, evidence)
            for known in self.known
            if known.captured
            for evidence in self.of(known.dataset).evidence
            if evidence.suite == subject.suite
        ]
        name = PurePath(subject.where).name
        named = [known for known, evidence in hits if PurePath(evidence.report).name == name]
        chosen = {known.label: known for known in named or [known for known, _ in hits]}
        if len(chosen) > 1:
            listing = ", ".join(sorted(chosen))
            return Unmapped(f"its suite has judged more than one dataset: {listing}", "ambiguous")
        return Mapped(next(iter(chosen.values())), "earlier results") if chosen else None

    def _captured(self, dataset: Dataset) -> Known:
        desk = self.of(dataset)
        head = desk.manifest(desk.head_seq)
        return Known(dataset, head.dataset_name, head.relation)

    def _planned(self) -> list[Known]:
        nodes = map(self._graph.node, self._graph.node_ids) if self._graph is not None else ()
        return [
            Known(Dataset(self._env or "", n.unique_id), n.name, n.relation, captured=False)
            for n in nodes
            if n is not None and (n.buildable or n.resource_type == "source")
        ]
