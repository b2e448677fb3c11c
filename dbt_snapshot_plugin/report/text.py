"""Results as text for a terminal; every function takes the JSON document of its command."""

from __future__ import annotations

from typing import Any

from dbt_snapshot_plugin.report.columns import render_columns
from dbt_snapshot_plugin.report.style import Style
from dbt_snapshot_plugin.report.table import clean, render_table

Document = dict[str, Any]
SHORT_SHA = 12


def render_datasets(rows: list[Document], style: Style) -> str:
    if not rows:
        return "no datasets yet"
    header = ["env", "dataset", "snapshot", "version", "rows", "qa", "change", "created (UTC)"]
    cells = [
        [
            r["env"],
            r["dataset"],
            str(r["seq"]),
            short(r["metadata_sha"]),
            number(r["num_rows"]),
            r["qa_state"],
            r["change"],
            moment(r["created_at"]),
        ]
        for r in rows
    ]
    return render_table(header, cells, style, right=(2, 4))


def render_snapshots(rows: list[Document], total: int, style: Style) -> str:
    if not rows:
        return "no snapshots yet"
    header = ["snapshot", "version", "data", "rows", "qa", "change", "created (UTC)", "id"]
    cells = [
        [
            str(r["seq"]),
            short(r["metadata_sha"]),
            short(r["data_sha"]),
            number(r["num_rows"]),
            r["qa_state"],
            r["change"],
            moment(r["created_at"]),
            r["snapshot_id"],
        ]
        for r in rows
    ]
    title = f"{rows[0]['dataset']} in {rows[0]['env']}"
    parts = [clean(title), render_table(header, cells, style, right=(0, 3))]
    if len(rows) < total:
        parts.append(f"the last {len(rows)} of {total:,}; --all shows the rest")
    return "\n".join(parts)


def render_show(doc: Document, head_seq: int, style: Style) -> str:
    """One page: identity, QA, parents, columns, and what was not computed."""
    parts = [_identity(doc, head_seq, style), _qa(doc, style), _parents(doc, style)]
    parts += [render_columns(doc, style), not_computed(doc)]
    return "\n\n".join(part for part in parts if part)


def _identity(doc: Document, head_seq: int, style: Style) -> str:
    place = "HEAD" if doc["seq"] == head_seq else f"HEAD~{head_seq - doc['seq']}"
    rows = [
        ("dataset", f"{doc['env']}/{doc['unique_id']}"),
        ("snapshot", f"{doc['seq']} ({place}), {doc['snapshot_id']}"),
        ("version", doc["metadata_sha"]),
        ("data", f"{doc['data_sha']} ({doc['hash_algo']}, depth {doc['depth']})"),
        ("rows", f"{number(doc.get('num_rows'))} in {doc['num_columns']} columns"),
        ("change", doc["change"]),
        ("created", f"{moment(doc['created_at'])} UTC by {doc['created_by']}"),
        ("relation", f"{doc['relation']} ({doc['materialization']}, {doc['source_type']})"),
        ("code", short(doc["code_sha"]) if doc["code_sha"] else ""),
        ("commit", short(doc["producer"]["commit"]) if doc["producer"]["commit"] else ""),
        ("stage", doc.get("pipeline_stage") or ""),
        ("message", doc.get("message") or ""),
        ("description", " ".join(doc["description"].split())),
        ("tags", ", ".join(f"{k}={v}" if v else k for k, v in doc["tags"].items())),
        ("redacted", ", ".join(doc["redacted_columns"])),
        ("volatile", ", ".join(doc["volatile_columns"])),
    ]
    lines = [f"  {name:<12} {clean(value)}" for name, value in rows if value]
    return "\n".join([style.bold(clean(doc["dataset_name"])), *lines])


def _qa(doc: Document, style: Style) -> str:
    status = doc["qa_status"]
    lines = [f"qa {style.state(status['state'])}: {clean(status['summary'])}"]
    lines += [f"  {r['code']}: {clean(r['text'])}" for r in status.get("reasons", [])]
    at_commit = doc["qa_status_at_commit"]["state"]
    if at_commit != status["state"]:
        lines.append(f"  it was {style.state(at_commit)} when the snapshot was recorded")
    suites = status.get("suites", [])
    if suites:
        header = ["suite", "qa", "passed", "basis", "observed (UTC)"]
        cells = [
            [
                s["suite"],
                s["state"],
                _passed(s.get("counts")),
                s.get("basis", "-"),
                moment(s["observed_at"]) if s.get("observed_at") else "-",
            ]
            for s in suites
        ]
        lines.append(render_table(header, cells, style, right=(2,), indent="  "))
    return "\n".join(lines)


def _passed(counts: Document | None) -> str:
    return f"{counts['passed']}/{counts['evaluated']}" if counts else "-"


def _parents(doc: Document, style: Style) -> str:
    if not doc["parents"]:
        return ""
    cells = []
    for p in doc["parents"]:
        note = p.get("reason", "")
        if p.get("looked_through"):
            note = "looked through" + (f"; {note}" if note else "")
        version = short(p["metadata_sha"]) if "metadata_sha" in p else "-"
        cells.append([p["unique_id"], str(p.get("seq", "-")), version, p["basis"], note])
    header = ["parent", "snapshot", "version", "basis", "note"]
    return "parents\n" + render_table(header, cells, style, right=(1,), indent="  ")


def not_computed(doc: Document) -> str:
    fields = sorted(doc.get("not_computed", {}))
    return f"not computed: {clean(', '.join(fields))} (--output json says why)" if fields else ""


def render_profile(doc: Document, path: str, style: Style) -> str:
    rows = [
        ("data", f"{doc.get('data_sha', '-')} ({doc['hash_algo']}, depth {doc['depth']})"),
        ("rows", f"{number(doc['num_rows'])} in {doc['num_columns']} columns"),
        ("constant", ", ".join(doc["constant_columns"])),
        ("many nulls", ", ".join(doc["high_null_columns"])),
    ]
    lines = [f"  {name:<12} {clean(value)}" for name, value in rows if value]
    head = "\n".join([style.bold(clean(path)), *lines])
    parts = [head, render_columns(doc, style), not_computed(doc)]
    return "\n\n".join(part for part in parts if part)


def render_validation(doc: Document, style: Style) -> str:
    cells = [[check["name"], check["result"], check["detail"]] for check in doc["checks"]]
    wide = Style(width=10_000, colour=style.colour)  # a path that is cut helps nobody
    lines = [render_table(["check", "result", "detail"], cells, wide)]
    lines += [f"error: {clean(text)}" for text in doc["errors"]]
    lines += [f"warning: {clean(text)}" for text in doc["warnings"]]
    counts = f"{len(doc['errors'])} errors, {len(doc['warnings'])} warnings"
    lines.append(f"{doc['files']:,} files checked, {counts}")
    lines.append(f"RESULT: {style.state(doc['result'])}")
    return "\n".join(lines)


def short(sha: str) -> str:
    return sha[:SHORT_SHA]


def number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def moment(text: str) -> str:
    """`2025-01-05 14:03`, from the one form that times have in records."""
    return text[:16].replace("T", " ")
