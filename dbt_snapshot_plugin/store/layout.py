"""Where everything lies in a store: the only place that builds keys."""

from __future__ import annotations

import re

from dbt_snapshot_plugin.model.errors import StoreError
from dbt_snapshot_plugin.model.reference import Dataset

STORE = "store.json"
DATASETS = "datasets"
OBJECTS = "objects"
STAGING = "staging"
_SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_ESCAPE = re.compile(r"%([0-9a-f]{2})")
_NAME_LIMIT = 240


def encode_name(text: str) -> str:
    """Percent-encodes all but small letters, digits, '_' and '-'.

    Dots and capitals too: two names that differ only in case must not meet on a file system
    that ignores case, and none can be '.' or '..'.
    """
    name = "".join(chr(b) if b in _SAFE else f"%{b:02x}" for b in text.encode("utf-8"))
    if not name or len(name) > _NAME_LIMIT:
        raise StoreError(
            f"the name {text!r} can't be stored: it must have 1 to {_NAME_LIMIT} bytes encoded",
            next_step="shorten it, or set a shorter `env`",
        )
    return name


def decode_name(name: str) -> str | None:
    """The text that was encoded, or None for a name that `encode_name` never makes."""
    try:
        raw = _ESCAPE.sub(lambda m: chr(int(m.group(1), 16)), name)
        text = raw.encode("latin-1").decode("utf-8")
        return text if encode_name(text) == name else None
    except (UnicodeError, StoreError):
        return None


def can_store(dataset: Dataset) -> bool:
    """Whether such a dataset can have a place here at all."""
    try:
        return bool(dataset_prefix(dataset))
    except StoreError:
        return False


def dataset_prefix(dataset: Dataset) -> str:
    return f"{DATASETS}/{encode_name(dataset.env)}/{encode_name(dataset.unique_id)}"


def snapshots_prefix(dataset: Dataset) -> str:
    return f"{dataset_prefix(dataset)}/snapshots"


def snapshot_key(dataset: Dataset, seq: int) -> str:
    return f"{snapshots_prefix(dataset)}/{seq:08d}.json"


def hint_key(dataset: Dataset) -> str:
    return f"{dataset_prefix(dataset)}/hint"


def events_prefix(dataset: Dataset, kind: str) -> str:
    return f"{dataset_prefix(dataset)}/events/{kind}"


def event_key(dataset: Dataset, kind: str, microseconds: int, name: str) -> str:
    """Keys sort newest first, so the first page of a listing answers most questions."""
    return f"{events_prefix(dataset, kind)}/{10**17 - microseconds:018d}-{name}.json"


def object_key(sha256: str) -> str:
    return f"{OBJECTS}/{sha256[:2]}/{sha256}"
