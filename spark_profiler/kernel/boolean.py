"""Booleans: how many of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from spark_profiler.kernel.tally import Tally
    from spark_profiler.types import Column


def tally_flags(column: Column) -> Tally:
    """Count true and false."""
    assert column.words is not None
    words = column.words if column.nulls is None else column.words[~column.nulls]
    true = int(np.count_nonzero(words))
    return {"sum_true": true, "sum_false": len(words) - true}


def flag_figures(tally: Tally) -> dict[str, object]:
    """The statistics of a boolean column."""
    return {"true_count": tally.get("sum_true", 0), "false_count": tally.get("sum_false", 0)}
