"""A microbatch model starts and finishes once a batch, and is one build."""

from __future__ import annotations

import pytest

from tests.functional.conftest import MakeProject

pytestmark = [pytest.mark.functional, pytest.mark.spark]

DAYS = """
    {{ config(materialized='incremental', incremental_strategy='microbatch', event_time='day',
              batch_size='day', begin='2025-01-01', partition_by=['day']) }}
    select id, day from {{ ref('orders') }}
    {% if var('bad', false) and model.batch and model.batch.id == '20250102' %} no sql {% endif %}
"""
ORDERS = """
    {{ config(materialized='table', event_time='day') }}
    select 1 as id, date'2025-01-01' as day union all select 2, date'2025-01-02'
    union all select 3, date'2025-01-03'
"""
THREE_DAYS = ["--event-time-start", "2025-01-01", "--event-time-end", "2025-01-04"]


def test_batches_are_one_build(make_project: MakeProject) -> None:
    project = make_project({"models/orders.sql": ORDERS, "models/days.sql": DAYS})
    run = project.invoke("run", "--threads", "4", *THREE_DAYS)
    assert run.success
    assert "3 rows, 2 columns, snapshot 1" in run.note(" days:")
    assert len(project.builds("days")) == 1

    run = project.invoke("run", "-s", "days", "--vars", "{bad: true}", *THREE_DAYS)
    assert run.results == {"model.shop.days": "partial success"}
    assert not [note for note in run.notes if " days:" in note]
    assert project.heads()["days"] == 1
    status = project.head("days")["qa_status"]
    assert [reason["code"] for reason in status["reasons"]] == ["uncaptured"]
    assert "partial success" in status["summary"]
    project.assert_valid()
