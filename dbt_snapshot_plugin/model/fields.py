"""The forms that values take in records; a reader refuses any other.

Each is an allow-list: a path, a control character or a number of a thousand digits can't stand
where a hash, an id or a count belongs.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
Uuid = Annotated[
    str, Meta(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", min_length=36, max_length=36)
]
Time = Annotated[
    str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$", min_length=27, max_length=27)
]
"""UTC, always of one length, so that the order of the texts is the order of the times."""
Name = Annotated[str, Meta(min_length=1)]
Seq = Annotated[int, Meta(ge=1, le=99_999_999)]
Count = Annotated[int, Meta(ge=0)]
