"""References: `[env/]dataset[@selector]`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dbt_snapshot_plugin.model.errors import UnknownReferenceError

_HEAD = re.compile(r"HEAD(?:~([0-9]{1,8}))?\Z")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
_SHA = re.compile(r"[0-9a-f]{7,64}\Z")
_SEQ = re.compile(r"[0-9]{1,8}\Z")


@dataclass(frozen=True)
class Dataset:
    """One dbt relation in one environment: the address of a history."""

    env: str
    unique_id: str

    def __str__(self) -> str:
        return f"{self.env}/{self.unique_id}"


@dataclass(frozen=True)
class Selector:
    """Which snapshot of a history; one field is set, but digits can be a number and a sha."""

    text: str
    back: int | None = None
    seq: int | None = None
    uuid: str | None = None
    sha: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Reference:
    text: str
    env: str | None
    dataset: str
    selector: Selector

    @property
    def address(self) -> str:
        """The reference without its selector."""
        return f"{self.env}/{self.dataset}" if self.env else self.dataset


def parse_reference(text: str) -> Reference:
    """Splits a reference; says nothing yet about whether it exists.

    An env may hold '/' and '@', a dataset and a selector hold neither.
    """
    env, slash, rest = text.rpartition("/")
    dataset, at, selector = rest.partition("@")
    if not dataset or (at and not selector) or (slash and not env):
        raise UnknownReferenceError(
            f"{text!r} is not a reference",
            next_step="write [env/]dataset[@HEAD~n | @number | @sha | @uuid], as in fct_orders@3",
        )
    return Reference(
        text=text, env=env or None, dataset=dataset, selector=_selector(selector or "HEAD")
    )


def _selector(text: str) -> Selector:
    if head := _HEAD.match(text):
        return Selector(text, back=int(head.group(1) or 0))
    if _UUID.match(text):
        return Selector(text, uuid=text)
    if _SEQ.match(text):
        return Selector(text, seq=int(text), sha=text if _SHA.match(text) else None)
    if _SHA.match(text):
        return Selector(text, sha=text)
    return Selector(text, name=text)


def resolve_dataset(reference: Reference, known: list[Dataset]) -> Dataset:
    """The one dataset that is meant; ambiguity and typos are errors that list the candidates."""
    named = [d for d in known if names(d.unique_id, reference.dataset)]
    exact = [d for d in named if d.unique_id == reference.dataset]
    named = exact or named
    if reference.env is not None:
        wanted = [d for d in named if d.env == reference.env]
        named = wanted or [d for d in named if d.env.startswith(reference.env)]
    if len(named) == 1:
        return named[0]
    if named:
        listing = ", ".join(sorted(str(d) for d in named))
        raise UnknownReferenceError(
            f"{reference.text!r} is ambiguous: {listing}",
            next_step="write one of them in full (env/dataset)",
        )
    raise UnknownReferenceError(
        f"no dataset {reference.address!r} in this store", next_step=_suggest(reference, known)
    )


def names(unique_id: str, text: str) -> bool:
    """A unique_id can be shortened from the left: fct_orders, shop.fct_orders, model.shop.…"""
    return unique_id == text or unique_id.endswith("." + text)


def _suggest(reference: Reference, known: list[Dataset]) -> str:
    import difflib  # only for who mistyped: `list` and `show` must start fast

    elsewhere = sorted(str(d) for d in known if names(d.unique_id, reference.dataset))
    if elsewhere:
        return f"there is {', '.join(elsewhere)}"
    short = {d.unique_id.rsplit(".", 1)[-1] for d in known}
    close = difflib.get_close_matches(reference.dataset.rsplit(".", 1)[-1], sorted(short), n=3)
    if close:
        return f"did you mean {', '.join(close)}? `dbt-snapshot list` shows all"
    return "`dbt-snapshot list` shows what is there"
