"""Which nodes dbt's selection syntax means: names, unique_ids, `tag:`, `path:`, `+` and `*`.

The part of dbt's syntax that needs nothing but the graph. What is not understood is an error, and
so is what matches nothing: a gate over an empty selection would let everything pass.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from dbt_snapshot_plugin.model.errors import UsageError
from dbt_snapshot_plugin.model.graph import BUILT_TYPES, Graph, Node
from dbt_snapshot_plugin.model.manifest import Manifest
from dbt_snapshot_plugin.model.reference import Dataset
from dbt_snapshot_plugin.store.repository import Repository

_ATOM = re.compile(
    r"(?P<up>(?P<up_depth>\d*)\+)?(?:(?P<method>[\w.]+):)?"
    r"(?P<value>[^:@+]+?)(?P<down>\+(?P<down_depth>\d*))?\Z"
)
_FILES = (".sql", ".py", ".csv")
_HELP = "write names, unique_ids, tag:NAME or path:DIR, with * and with + before or after"


def select(graph: Graph, expressions: Sequence[str]) -> set[str]:
    """The unique_ids of models, seeds, snapshots and sources; a space unites, a comma intersects.

    Raises UsageError for an expression that is not understood or that matches nothing.
    """
    nodes = {n.unique_id: n for n in map(graph.node, graph.node_ids) if n and _selectable(n)}
    found: set[str] = set()
    for expression in expressions:
        for part in expression.split():
            sets = [_matches(graph, nodes, atom) for atom in part.split(",")]
            chosen = set.intersection(*sets)
            if not chosen:
                raise UsageError(f"no node is in all of {part!r}", next_step="use fewer commas")
            found |= chosen
    return found


def graph_of_store(repo: Repository, env: str) -> Graph:
    """What the store knows of the graph: for a project whose manifest.json is not at hand."""
    found: dict[str, Node] = {}
    for dataset in repo.datasets():
        if dataset.env == env:
            found[dataset.unique_id] = _node(dataset, repo.history(dataset).head())
    return Graph(find_node=found.get, find_macro=lambda _: None, node_ids=list(found))


def _node(dataset: Dataset, head: Manifest | None) -> Node:
    return Node(
        unique_id=dataset.unique_id,
        resource_type=dataset.unique_id.partition(".")[0],
        name=head.dataset_name if head else dataset.unique_id.rsplit(".", 1)[-1],
        package="",
        materialization=head.materialization if head else "",
        relation=head.relation if head else "",
        path="",
        root_path=None,
        fqn=(),
        description="",
        tags=tuple(head.tags) if head else (),
        meta={},
        columns={},
        raw_code="",
        compiled_code=None,
        config={},
        depends_on=tuple(p.unique_id for p in head.parents) if head else (),
        macros=(),
    )


def _selectable(node: Node) -> bool:
    return node.resource_type in BUILT_TYPES or node.resource_type == "source"


def _matches(graph: Graph, nodes: dict[str, Node], atom: str) -> set[str]:
    """One expression without spaces and commas."""
    parts = _ATOM.match(atom)
    if parts is None:
        raise UsageError(f"the selection {atom!r} is not understood", next_step=_HELP)
    value = parts["value"]
    test = _test(parts["method"], value)
    found = {unique_id for unique_id, node in nodes.items() if test(node, value)}
    if not found:
        raise UsageError(f"no node matches {atom!r}", next_step=_suggest(nodes.values(), value))
    chosen = set(found)
    if parts["up"]:
        chosen |= _walk(found, lambda uid: _parents(graph, uid), parts["up_depth"])
    if parts["down"]:
        children = _children(graph)
        chosen |= _walk(found, lambda uid: children.get(uid, []), parts["down_depth"])
    return chosen & nodes.keys()


def _test(method: str | None, value: str) -> Callable[[Node, str], bool]:
    if method is None:
        return _in_path if "/" in value or value.lower().endswith(_FILES) else _named
    if method == "tag":
        return _tagged
    if method == "path":
        return _in_path
    raise UsageError(
        f"selecting by {method!r} is not supported here",
        next_step=f"{_HELP}; for anything else hand over what `dbt ls -s {method}:{value} "
        "--output name` prints",
    )


def _named(node: Node, value: str) -> bool:
    """The name, any end of the unique_id, or the folders of the project that lead to it."""
    if fnmatchcase(node.unique_id, value):
        return True
    if node.resource_type == "source":  # dbt, too, wants these by their full name
        return False
    if fnmatchcase(node.name, value) or fnmatchcase(node.unique_id, f"*.{value}"):
        return True
    wanted = value.split(".")
    return any(_begins(fqn, wanted) for fqn in (node.fqn, node.fqn[1:]))


def _begins(fqn: tuple[str, ...], wanted: list[str]) -> bool:
    pairs = zip(fqn, wanted, strict=False)
    return len(fqn) >= len(wanted) and all(fnmatchcase(part, want) for part, want in pairs)


def _tagged(node: Node, value: str) -> bool:
    return any(fnmatchcase(tag, value) for tag in node.tags)


def _in_path(node: Node, value: str) -> bool:
    wanted = value.removeprefix("./").rstrip("/")
    return fnmatchcase(node.path, wanted) or fnmatchcase(node.path, f"{wanted}/*")


def _parents(graph: Graph, unique_id: str) -> Iterable[str]:
    node = graph.node(unique_id)
    return node.depends_on if node else ()


def _children(graph: Graph) -> dict[str, list[str]]:
    children: dict[str, list[str]] = {}
    for unique_id in graph.node_ids:
        for parent in _parents(graph, unique_id):
            children.setdefault(parent, []).append(unique_id)
    return children


def _walk(start: set[str], step: Callable[[str], Iterable[str]], depth: str) -> set[str]:
    """All that is reached, or what is reached in so many steps."""
    reached, edge = set(start), set(start)
    left = int(depth) if depth else -1
    while edge and left != 0:
        edge = {following for uid in edge for following in step(uid)} - reached
        reached |= edge
        left -= 1
    return reached


def _suggest(nodes: Iterable[Node], value: str) -> str:
    known = {node.name for node in nodes} | {f"tag:{t}" for node in nodes for t in node.tags}
    close = difflib.get_close_matches(value.rsplit(".", 1)[-1], sorted(known), n=3)
    return f"did you mean {', '.join(close)}?" if close else _HELP
