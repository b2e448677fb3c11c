"""`validate`: is everything in the store what was written, and does it fit together?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from dbt_snapshot_plugin.model.codec import to_plain
from dbt_snapshot_plugin.model.errors import CorruptRecordError, UsageError
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

    Damage is a result (FAIL), and the rest is still checked; a store that can't be read raises.
    """
    if text is not None:
        _refuse_lake(text)
    repo.require()
    run = _Run(repo)
    run.count("store", 1)
    if text is None:
        for dataset in repo.datasets():
            run.check_dataset(dataset)
        run.note_foreign()
    else:
        run.check_one(text)
    run.check_staging()
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
        self._statuses: list[tuple[str, QaStatus]] = []
        self._absent: set[str] = set()

    def count(self, group: str, number: int) -> None:
        self._groups[group].checked += number

    def _fail(self, group: str, problems: Iterable[str]) -> None:
        self._groups[group].errors.extend(problems)

    def check_dataset(self, dataset: Dataset) -> None:
        """The whole history: every number, every record, every link."""
        last = self._check_names(dataset)
        previous: Manifest | None = None
        for seq in range(1, last + 1):
            manifest = self._read(dataset, seq)
            if manifest is not None:
                self._check_manifest(manifest, previous, linked=previous is not None or seq == 1)
            previous = manifest
        self._check_events(dataset)
        if previous is not None:
            self._judge(dataset, previous)

    def check_one(self, text: str) -> None:
        """One snapshot, its link to the one before it, and the dataset's events."""
        reference = parse_reference(text)
        dataset = resolve_dataset(reference, self._repo.datasets())
        try:
            manifest = self._repo.history(dataset).select(reference.selector)
        except CorruptRecordError as error:
            self.count("history", 1)
            self._fail("history", [_line(error)])
            return
        self.count("history", 1)
        previous = self._read(dataset, manifest.seq - 1) if manifest.seq > 1 else None
        linked = previous is not None or manifest.seq == 1
        self._check_manifest(manifest, previous, linked=linked)
        self._check_events(dataset)
        self._judge(dataset, manifest)

    def _check_names(self, dataset: Dataset) -> int:
        """The last number; every number up to it must be there, and nothing else."""
        prefix = layout.snapshots_prefix(dataset)
        numbers = set()
        for name in self._repo.backend.names(prefix):
            match = _SNAPSHOT_NAME.match(name)
            if match and int(match.group(1)) > 0:
                numbers.add(int(match.group(1)))
            else:
                self._fail("history", [f"{prefix}/{name}: this file is no snapshot"])
        last = max(numbers, default=0)
        for seq in sorted(set(range(1, last + 1)) - numbers):
            key = layout.snapshot_key(dataset, seq)
            self._fail("history", [f"{key}: snapshot {seq} of {dataset} is missing"])
        return last

    def _read(self, dataset: Dataset, seq: int) -> Manifest | None:
        if not self._repo.backend.exists(layout.snapshot_key(dataset, seq)):
            return None
        self.count("history", 1)
        try:
            return self._repo.history(dataset).get(seq)
        except CorruptRecordError as error:
            self._fail("history", [_line(error)])
            return None

    def _check_manifest(
        self, manifest: Manifest, previous: Manifest | None, *, linked: bool
    ) -> None:
        """`linked` is false where the record before is lost: its own error says so already."""
        if linked:
            self._fail("history", integrity.chain_problems(manifest, previous))
        self.count("identity", 1)
        self._fail("identity", integrity.identity_problems(manifest))
        if manifest.profile is not None:
            self.count("profiles", 1)
            self._fail("profiles", self._profiles.problems(manifest))
        pinned, problems, absent = integrity.parent_problems(self._repo, manifest)
        self.count("parents", pinned)
        self._fail("parents", problems)
        self._absent.update(absent)

    def _check_events(self, dataset: Dataset) -> None:
        events = self._repo.events(dataset)
        prefix = f"{layout.dataset_prefix(dataset)}/events"
        for kind in self._repo.backend.names(prefix):
            if kind not in EVENT_KINDS:
                self._warnings.append(f"{prefix}/{kind}: events of a newer version, not checked")
                continue
            for key in events.keys(kind):
                self.count("events", 1)
                self._fail("events", integrity.event_problems(events, key))

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

    def note_foreign(self) -> None:
        self._warnings += [f"{key}: this is not ours" for key in self._repo.foreign()]

    def check_staging(self) -> None:
        left = list(self._repo.backend.names("staging"))
        if left:
            self._warnings.append(
                f"staging: {len(left)} unfinished file(s) of a capture that runs or was killed; "
                "the next capture removes those of the dead"
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
        return records + self._profiles.read


def _check(name: str, group: _Group) -> Check:
    if group.errors:
        more = f" (+{len(group.errors) - 1} more)" if len(group.errors) > 1 else ""
        return Check(name, "FAIL", group.errors[0] + more)
    return Check(name, "PASS", "known format" if name == "store" else _counted(name, group))


def _counted(name: str, group: _Group) -> str:
    return f"{group.checked:,} {GROUPS[name]} checked"


def _line(error: CorruptRecordError) -> str:
    return f"{error.where}: {error.what}"
