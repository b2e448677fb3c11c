"""`validate`: is everything in the store what was written, and does it fit together?"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from dbt_snapshot_plugin.model.codec import FORMAT_VERSION, to_plain
from dbt_snapshot_plugin.model.errors import (
    CorruptRecordError,
    StoreError,
    UnknownFormatError,
    UnknownReferenceError,
    UsageError,
)
from dbt_snapshot_plugin.model.events import Event
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.qa import QaStatus, Reason
from dbt_snapshot_plugin.model.reference import Dataset, parse_reference, resolve_dataset
from dbt_snapshot_plugin.ops import integrity
from dbt_snapshot_plugin.ops.status_of import Verdicts, combined_status
from dbt_snapshot_plugin.store import layout
from dbt_snapshot_plugin.store.repository import Repository

Result = Literal["PASS", "FAIL"]
GROUPS = {
    "store": "format",
    "history": "records",
    "identity": "snapshots",
    "profiles": "profiles",
    "objects": "objects",
    "events": "events",
    "parents": "pinned parents",
}
EVENT_KINDS = ("build", "evidence")
_SNAPSHOT_NAME = re.compile(r"(\d{8})\.json\Z")
_LAKE_VERSION = re.compile(r"v\d+\.\d+\.\d+")


@dataclass(frozen=True)
class Check:
    name: str
    result: Result
    detail: str


@dataclass(frozen=True)
class Validation:
    result: Result
    checks: list[Check]
    files: int
    """How many records and objects were read and checked."""
    warnings: list[str]
    errors: list[str]
    qa_status: QaStatus

    def to_dict(self) -> dict[str, Any]:
        return {
            "result": self.result,
            "checks": [asdict(check) for check in self.checks],
            "files": self.files,
            "warnings": self.warnings,
            "errors": self.errors,
            "qa_status": to_plain(self.qa_status),
        }


def validate(repo: Repository, text: str | None = None) -> Validation:
    """Checks the whole store, or the one snapshot that a reference names.

    Damage is a result (FAIL), and the rest is still checked; a store that can't be read, or one of
    an unknown format, raises.
    """
    if text is not None:
        _refuse_lake(text)
    run = _Run(repo)
    run.check_format()
    if text is None:
        run.check_all()
    else:
        run.check_one(text)
    return run.finish()


def _refuse_lake(text: str) -> None:
    """A path, a URL or a version means a lake snapshot; a reference never begins like one."""
    looks_like_path = text.startswith(("/", "./", "../", "~")) or "://" in text or text == "."
    if looks_like_path or _LAKE_VERSION.match(text) or Path(text, "lake_manifest.json").exists():
        raise UsageError(
            f"{text!r} names a lake snapshot; validating those belongs to a later release",
            next_step="`dbt-snapshot validate` checks the store, `validate DATASET@2` a snapshot",
        )


@dataclass
class _Group:
    checked: int = 0
    errors: list[str] = field(default_factory=list)


class _Run:
    """One validation: what was counted and found so far."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._groups = {name: _Group() for name in GROUPS}
        self._warnings: list[str] = []
        self._profiles = integrity.Profiles(repo)
        self._objects: set[str] = set()
        self._statuses: list[tuple[str, QaStatus]] = []
        self._absent: set[str] = set()

    def _count(self, group: str, number: int = 1) -> None:
        self._groups[group].checked += number

    def _fail(self, group: str, problems: Iterable[str]) -> None:
        self._groups[group].errors.extend(problems)

    @contextlib.contextmanager
    def _finding(self, group: str) -> Iterator[None]:
        """Damage in here is a finding of this group and ends no more than this block."""
        try:
            yield
        except CorruptRecordError as error:
            self._fail(group, [integrity.line(self._repo.backend, error)])

    def check_format(self) -> None:
        self._count("store")
        with self._finding("store"):
            try:
                self._repo.require()
            except UnknownFormatError as error:
                raise StoreError(
                    error.what, where=error.where, next_step=error.next_step
                ) from None

    def check_all(self) -> None:
        with self._finding("store"):
            for dataset in self._repo.datasets():
                with self._finding("history"):
                    self._check_dataset(dataset)
            self._warnings += [f"{key}: this is not ours" for key in self._repo.foreign()]
            self._check_objects()
            self._check_staging()

    def _check_dataset(self, dataset: Dataset) -> None:
        """The whole history: every number, every record, every link.

        Events are read first: what a capture adds in the meantime must not look like a loss.
        """
        events = self._read_events(dataset)
        numbers = self._numbers(dataset)
        for first, last in integrity.gaps(numbers):
            which = f"snapshot {first} is" if first == last else f"snapshots {first} to {last} are"
            key = layout.snapshot_key(dataset, first)
            self._fail("history", [f"{key}: {which} missing from {dataset}"])
        history: dict[int, Manifest | None] = {}
        for seq in numbers:
            history[seq] = manifest = self._read(dataset, seq)
            if manifest is not None:
                previous = history.get(seq - 1)
                self._check_manifest(manifest, previous, linked=previous is not None or seq == 1)
        for key, event in events:
            self._fail("events", integrity.build_problems(key, event, history))
        if numbers and (head := history[numbers[-1]]) is not None:
            self._judge(dataset, head)

    def check_one(self, text: str) -> None:
        """One snapshot, its link to the one before it, and the dataset's events."""
        reference = parse_reference(text)
        dataset = resolve_dataset(reference, self._repo.datasets())
        self._count("history")
        with self._finding("history"):
            manifest = self._repo.history(dataset).select(reference.selector)
            previous = self._read(dataset, manifest.seq - 1) if manifest.seq > 1 else None
            linked = previous is not None or manifest.seq == 1
            self._check_manifest(manifest, previous, linked=linked)
            self._read_events(dataset)
            self._judge(dataset, manifest)

    def _numbers(self, dataset: Dataset) -> list[int]:
        """The snapshots that are there by their names; nothing else may lie among them."""
        prefix = layout.snapshots_prefix(dataset)
        numbers = []
        for name in self._repo.backend.names(prefix):
            match = _SNAPSHOT_NAME.match(name)
            if match and int(match.group(1)) > 0:
                numbers.append(int(match.group(1)))
            else:
                self._fail("history", [f"{prefix}/{name}: this file is no snapshot"])
        return numbers

    def _read(self, dataset: Dataset, seq: int) -> Manifest | None:
        self._count("history")
        with self._finding("history"), contextlib.suppress(UnknownReferenceError):
            return self._repo.history(dataset).get(seq)
        return None

    def _check_manifest(
        self, manifest: Manifest, previous: Manifest | None, *, linked: bool
    ) -> None:
        """`linked` is false where the record before is lost: its own error says so already."""
        if linked:
            self._fail("history", integrity.chain_problems(manifest, previous))
        self._count("identity")
        self._fail("identity", integrity.identity_problems(manifest))
        self._count("profiles", manifest.profile is not None)
        self._fail("profiles", self._profiles.problems(manifest))
        with self._finding("parents"):
            pinned, problems, absent = integrity.parent_problems(self._repo, manifest)
            self._count("parents", pinned)
            self._fail("parents", problems)
            self._absent.update(absent)

    def _read_events(self, dataset: Dataset) -> list[tuple[str, Event]]:
        events = self._repo.events(dataset)
        prefix = f"{layout.dataset_prefix(dataset)}/events"
        found = []
        for kind in self._repo.backend.names(prefix):
            if kind not in EVENT_KINDS:
                self._warnings.append(f"{prefix}/{kind}: events of a newer version, not checked")
                continue
            for key in events.keys(kind):
                self._count("events")
                with self._finding("events"):
                    found.append((key, events.read(key)))
        return found

    def _judge(self, dataset: Dataset, manifest: Manifest) -> None:
        try:
            status = Verdicts(self._repo, dataset).of(manifest)
        except CorruptRecordError as error:
            reason = Reason(code="unreadable", text=error.what)
            status = QaStatus(
                state="UNKNOWN",
                summary=error.what,
                invariants={},
                provisional=True,
                reasons=[reason],
            )
        self._statuses.append((str(dataset), status))

    def _check_objects(self) -> None:
        for key, problems in integrity.object_problems(self._repo.backend):
            self._count("objects")
            self._objects.add(key)
            if key not in self._profiles.keys:
                self._fail("objects", problems)
        unused = len(self._objects - self._profiles.keys)
        if unused:
            self._warnings.append(
                f"{layout.OBJECTS}: {unused} object(s) that no snapshot names; they are left by a "
                "capture that still runs or was killed, and do no harm"
            )

    def _check_staging(self) -> None:
        left = len(list(self._repo.backend.names(layout.STAGING)))
        if left:
            self._warnings.append(
                f"{layout.STAGING}: {left} unfinished file(s) of a capture that runs or was "
                "killed; a later capture removes those of the dead"
            )

    def finish(self) -> Validation:
        for name in sorted(self._absent):
            self._warnings.append(f"{name} is pinned as a parent but is not in this store")
        alone = len(self._statuses) == 1
        qa_status = self._statuses[0][1] if alone else combined_status(self._statuses)
        if self._statuses and qa_status.state != "PASS":
            self._warnings.append(f"qa_status is {qa_status.state}: {qa_status.summary}")
        errors = [error for group in self._groups.values() for error in group.errors]
        return Validation(
            result="FAIL" if errors else "PASS",
            checks=[_check(name, group) for name, group in self._groups.items()],
            files=self._files(),
            warnings=self._warnings,
            errors=errors,
            qa_status=qa_status,
        )

    def _files(self) -> int:
        records = sum(self._groups[name].checked for name in ("store", "history", "events"))
        return records + len(self._objects | self._profiles.keys)


def _check(name: str, group: _Group) -> Check:
    if group.errors:
        more = f" (+{len(group.errors) - 1} more)" if len(group.errors) > 1 else ""
        return Check(name, "FAIL", group.errors[0] + more)
    if name == "store":
        return Check(name, "PASS", f"format {FORMAT_VERSION}")
    return Check(name, "PASS", f"{group.checked:,} {GROUPS[name]} checked")
