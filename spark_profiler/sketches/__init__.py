"""Mergeable sketches whose content depends on the values alone, never on order or chance."""

from __future__ import annotations

from spark_profiler.sketches.distinct import BottomK
from spark_profiler.sketches.minhash import NUM_PERM, SCHEME, SEED, MinHash128

__all__ = ["NUM_PERM", "SCHEME", "SEED", "BottomK", "MinHash128"]
