"""Exact sums: integers of any width and doubles, with no rounding anywhere.

Float sums change in the last digits with the partitioning. Here every value is split into limbs
small enough that a batch of products fits its accumulator, and the total is a Python integer.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]
    Doubles = npt.NDArray[np.float64]

_LIMB = 24  # bits; products of two limbs have 48, so 2^15 of them fit a word
_LIMB_MASK = np.uint64((1 << _LIMB) - 1)
_BLOCK = 1 << 15
DOUBLE_SCALE = 1074  # every finite double is a whole multiple of 2^-1074


def sum_signed(words: npt.NDArray[np.int64]) -> int:
    """Σx of two's complement words (fewer than 2^31 of them)."""
    high = int(np.sum(words >> np.int64(32), dtype=np.int64))
    low = int(np.sum(words & np.int64(0xFFFFFFFF), dtype=np.int64))
    return (high << 32) + low


def sum_squares(low: Words, high: Words | None = None) -> int:
    """Σx² of magnitudes, given as one word or as low and high word."""
    limbs = [(low >> np.uint64(shift)) & _LIMB_MASK for shift in (0, _LIMB)]
    if high is None:
        limbs.append(low >> np.uint64(2 * _LIMB))
    else:  # 128 bits in six limbs; the third one spans both words
        limbs.append((low >> np.uint64(48)) | ((high & np.uint64(0xFF)) << np.uint64(16)))
        limbs += [(high >> np.uint64(shift)) & _LIMB_MASK for shift in (8, 32, 56)]
    while limbs and not limbs[-1].any():
        limbs.pop()
    total = 0
    for i, first in enumerate(limbs):
        for j in range(i, len(limbs)):
            weight = 1 if i == j else 2
            total += weight * _dot(first, limbs[j]) << (_LIMB * (i + j))
    return total


def _dot(first: Words, second: Words) -> int:
    return sum(
        int(np.dot(first[start : start + _BLOCK], second[start : start + _BLOCK]))
        for start in range(0, len(first), _BLOCK)
    )


def double_sums(values: Doubles) -> tuple[int, int]:
    """Σx · 2^1074 and Σx² · 2^2148 of finite doubles."""
    total = squares = 0
    for start in range(0, len(values), _BLOCK):
        block_total, block_squares = _block_sums(values[start : start + _BLOCK])
        total += block_total
        squares += block_squares
    return total, squares


def _block_sums(values: Doubles) -> tuple[int, int]:
    """Group the mantissas by exponent; each group's sums are whole numbers below 2^53."""
    fractions, exponents = np.frexp(values)
    mantissas = (fractions * float(1 << 53)).astype(np.int64)
    lowest = int(exponents.min(initial=0))
    group = exponents - lowest
    signs = np.sign(fractions)
    size = np.abs(mantissas)
    a = (size & 0x3FFFF).astype(np.float64)  # three limbs of 18 bits
    b = ((size >> 18) & 0x3FFFF).astype(np.float64)
    c = (size >> 36).astype(np.float64)
    linear = (a * signs, b * signs, c * signs)
    quadratic = (a * a, 2 * a * b, 2 * a * c + b * b, 2 * b * c, c * c)
    scale = lowest - 53 + DOUBLE_SCALE
    total = sum(_grouped(group, part, scale + 18 * i) for i, part in enumerate(linear))
    squares = sum(
        _grouped(group, part, 2 * scale + 18 * i, step=2) for i, part in enumerate(quadratic)
    )
    return _shift_exactly(total), _shift_exactly(squares)


_SPARE = 256  # bits below the unit, since limbs of subnormals reach under 2^-1074


def _grouped(group: npt.NDArray[np.int32], part: Doubles, scale: int, step: int = 1) -> int:
    """Σ over the groups of its sum · 2^(scale + step · group), times 2^_SPARE."""
    sums = np.bincount(group, weights=part)
    used = np.flatnonzero(sums)
    return sum(int(sums[i]) << (scale + step * int(i) + _SPARE) for i in used)


def _shift_exactly(value: int) -> int:
    assert value & ((1 << _SPARE) - 1) == 0
    return value >> _SPARE


def as_double(value: Fraction) -> float | None:
    """The nearest double, or None for a value beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return None


def square_root(value: Fraction) -> float | None:
    """The correctly rounded square root of an exact value; None beyond the doubles."""
    if value == 0:
        return 0.0
    numerator, denominator = value.numerator, value.denominator
    # Scale so that the whole root has at least 64 bits, then let a sticky bit decide ties.
    shift = max(0, 130 - numerator.bit_length() + denominator.bit_length())
    shift += shift & 1
    scaled, rest = divmod(numerator << shift, denominator)
    root = math.isqrt(scaled)
    inexact = rest != 0 or root * root != scaled
    return as_double(Fraction((root << 1) | inexact, 1 << (shift // 2 + 1)))


def sample_deviation(count: int, total: Fraction, squares: Fraction) -> float | None:
    """The standard deviation with n - 1, rounded once from the exact value; None below n = 2."""
    if count < 2:
        return None
    return square_root((squares * count - total * total) / (count * (count - 1)))
