"""Identifiers and times, in the one form each has."""

from __future__ import annotations

import datetime as dt
import os
import uuid

UTC = dt.timezone.utc


def new_id() -> str:
    """A UUIDv7: unique, and sorted by the time it was made."""
    milliseconds = int(dt.datetime.now(UTC).timestamp() * 1000)
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return str(uuid.UUID(int=value))


def now() -> dt.datetime:
    return dt.datetime.now(UTC)


def format_time(moment: dt.datetime) -> str:
    """ISO-8601 in UTC with microseconds, always of one length so that text order is time order."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> dt.datetime:
    """Reads ISO-8601 and GX's compact form; a time without a zone is taken as UTC.

    Raises ValueError for anything else.
    """
    if "-" not in text:
        for pattern in ("%Y%m%dT%H%M%S.%fZ", "%Y%m%dT%H%M%SZ"):
            try:
                return dt.datetime.strptime(text, pattern).replace(tzinfo=UTC)
            except ValueError:
                continue
    moment = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
