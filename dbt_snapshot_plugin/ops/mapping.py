"""Which dataset a Great Expectations result is about; the strongest statement decides.

    1 meta      `dbt_unique_id` in the suite's meta, or in that of its expectations
    2 map       the project's own table of suites and assets
    3 relation  schema and table that the batch was read from
    4 asset     the asset's name
    5 suite     the suite's name

An explicit statement (1, 2) that names nothing is an error, not a reason to guess. Several
candidates mean none. Whoever is named, a batch that was read from another table is not about it:
a PASS on `dev.orders` must not become one on `prod.orders`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbt_snapshot_plugin.bridges.gx_results import Subject
from dbt_snapshot_plugin.model.qa import Code
from dbt_snapshot_plugin.model.reference import Dataset, names


@dataclass(frozen=True)
class Known:
    """A dataset that a result can be about."""

    dataset: Dataset
    name: str
    relation: str
    """As dbt renders it, quoted or not; empty where it is not known."""
    captured: bool = True
    """False for a node of the graph that has no snapshot."""

    @property
    def label(self) -> str:
        """`env/unique_id`; without an env where there is no store."""
        return str(self.dataset) if self.dataset.env else self.dataset.unique_id


@dataclass(frozen=True)
class Mapped:
    known: Known
    by: str


@dataclass(frozen=True)
class Unmapped:
    reason: str
    code: Code | None = None


Found = Mapped | Unmapped | None


def map_result(
    subject: Subject,
    known: Sequence[Known],
    *,
    suite_meta: str | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Mapped | Unmapped:
    """The one dataset of a result, or why there is none. `suite_meta` is the suite's own id."""
    return (
        _by_meta(subject, known, suite_meta)
        or _by_map(subject, known, mapping or {})
        or _by_relation(subject, known)
        or _by_label(subject, known, subject.asset, "asset")
        or _by_label(subject, known, subject.suite, "suite")
        or Unmapped("neither its suite nor its asset names a known dataset")
    )


def explicit_ids(subject: Subject, suite_meta: str | None) -> list[str]:
    """What the suite and its expectations themselves say they are about."""
    return sorted({*subject.unique_ids, *([suite_meta] if suite_meta else [])})


def _by_meta(subject: Subject, known: Sequence[Known], suite_meta: str | None) -> Found:
    ids = explicit_ids(subject, suite_meta)
    if not ids:
        return None
    if len(ids) > 1:
        return Unmapped(f"its suite names more than one dataset: {', '.join(ids)}", "ambiguous")
    candidates = [k for k in known if k.dataset.unique_id == ids[0]]
    if not candidates:
        return _unknown(f"the suite's dbt_unique_id {ids[0]!r}", ids[0], known)
    return _one(candidates, subject, "meta")


def _by_map(subject: Subject, known: Sequence[Known], mapping: Mapping[str, str]) -> Found:
    told = {mapping[key] for key in (subject.suite, subject.asset) if key and key in mapping}
    if not told:
        return None
    if len(told) > 1:
        listing = ", ".join(sorted(told))
        return Unmapped(f"qa.map gives its suite and its asset to {listing}", "ambiguous")
    target = told.pop()
    candidates = [k for k in known if k.dataset.unique_id == target]
    candidates = candidates or [k for k in known if _is_called(k, target)]
    if not candidates:
        return _unknown(f"qa.map: {target!r}", target, known)
    return _one(candidates, subject, "map")


def _by_relation(subject: Subject, known: Sequence[Known]) -> Found:
    """The table is physical: it matches relations, never the name of a model.

    If it matches none, weaker claims could only attach the result to what it did not judge.
    """
    if subject.table is None:
        return None
    candidates = [k for k in known if k.relation and _read_from(subject, k.relation)]
    if not candidates:
        return Unmapped(f"it judged {_table(subject)}, the relation of no known dataset")
    return _one(candidates, subject, "relation")


def _by_label(subject: Subject, known: Sequence[Known], label: str | None, by: str) -> Found:
    """Names of assets and suites are free text: a claim, for want of anything better."""
    if not label:
        return None
    wanted = _parts(label)
    candidates = [k for k in known if _is_called(k, label) or _ends(k.relation, wanted)]
    return _one(candidates, subject, by) if candidates else None


def _one(candidates: list[Known], subject: Subject, by: str) -> Mapped | Unmapped:
    fitting = [k for k in candidates if not k.relation or _read_from(subject, k.relation)]
    if not fitting:
        there = ", ".join(f"{k.label} is {k.relation}" for k in candidates)
        return Unmapped(f"it judged {_table(subject)}, but {there}")
    if len(fitting) > 1:
        listing = ", ".join(sorted(k.label for k in fitting))
        return Unmapped(f"its {by} fits more than one dataset: {listing}", "ambiguous")
    return Mapped(fitting[0], by)


def _unknown(what: str, text: str, known: Sequence[Known]) -> Unmapped:
    ids = sorted({k.dataset.unique_id for k in known})
    close = difflib.get_close_matches(text, ids, n=2)
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    return Unmapped(f"{what} names no known dataset{hint}")


def _is_called(known: Known, text: str) -> bool:
    return known.name == text or names(known.dataset.unique_id, text)


def _read_from(subject: Subject, relation: str) -> bool:
    """Whether the batch can have been read from this relation."""
    return subject.table is None or _ends(relation, _parts(_table(subject)))


def _table(subject: Subject) -> str:
    return f"{subject.schema}.{subject.table}" if subject.schema else str(subject.table)


def _ends(relation: str, wanted: list[str]) -> bool:
    """`catalog.schema.table` ends with `schema.table`."""
    return bool(wanted) and _parts(relation)[-len(wanted) :] == wanted


def _parts(name: str) -> list[str]:
    """Spark's names differ neither by case nor by quotes."""
    plain = name.replace("`", "").replace('"', "")
    return [part.casefold() for part in plain.split(".")]
