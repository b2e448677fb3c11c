"""Every error a user can meet: what happened, where, and the next step."""

from __future__ import annotations


class SnapshotError(Exception):
    """Base of all handled errors; the CLI prints it and exits 2.

    The three parts stay apart so that text and JSON output can both show them.
    """

    def __init__(self, what: str, *, where: str | None = None, next_step: str | None = None):
        self.what = what
        self.where = where
        self.next_step = next_step
        super().__init__(str(self))

    def __str__(self) -> str:
        text = self.what
        if self.where:
            text += f"\n  where: {self.where}"
        if self.next_step:
            text += f"\n  next:  {self.next_step}"
        return text


class UsageError(SnapshotError):
    """The command or call can't mean anything: a wrong option or argument."""


class ConfigError(SnapshotError):
    """A setting is unknown, has the wrong type or contradicts another."""


class UnknownReferenceError(SnapshotError):
    """A reference names nothing, or more than one thing."""


class StoreError(SnapshotError):
    """The store can't be read or written."""


class CorruptRecordError(StoreError):
    """Stored bytes are not what was written."""


class UnknownFormatError(CorruptRecordError):
    """A whole record, but of a format that this version can't know."""


class HostError(SnapshotError):
    """dbt, Spark, Java or Great Expectations is missing or refused to work."""


class CaptureError(SnapshotError):
    """A relation was built but no snapshot of it could be taken."""


class EvidenceError(SnapshotError):
    """A QA result can't be read or contradicts itself."""
