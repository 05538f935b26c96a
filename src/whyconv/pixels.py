"""The order of pixels: one permutation of images, and squares of images laid out side by side.

Tasks permute images by it, and networks that should start alike on permuted images permute their weights.
"""

from __future__ import annotations

import math
from typing import Any

from whyconv.lazy import np


def pixel_order(shape: tuple[int, ...]) -> np.ndarray:
    """One permutation of the pixels of images (rows, columns, colours), the same for every seed.

    Pixel p of a permuted image is pixel ``order[p]`` of the image, pixels numbered row by row, with
    the colours of a pixel kept together.
    """
    rows, columns = shape[:2]
    return np.random.default_rng([20_200_402, rows, columns]).permutation(rows * columns)


def side_by_side(parts: Any, side: int) -> Any:
    """Images (..., side^2, rows, columns, colours) as one square of them, row by row."""
    *several, _, rows, columns, colours = parts.shape
    parts = parts.reshape(*several, side, side, rows, columns, colours).swapaxes(-4, -3)
    return parts.reshape(*several, side * rows, side * columns, colours)


def cut_apart(square: Any, side: int) -> Any:
    """The images of a square: the inverse of :func:`side_by_side`."""
    *several, rows, columns, colours = square.shape
    parts = square.reshape(*several, side, rows // side, side, columns // side, colours).swapaxes(-4, -3)
    return parts.reshape(*several, side**2, rows // side, columns // side, colours)


def grid_order(shape: tuple[int, ...]) -> np.ndarray:
    """:func:`pixel_order` of a square of n square grey images, for inputs (n, pixels), one after the other.

    Entry q of the flat input of a permuted square is entry ``order[q]`` of the plain one.
    """
    side, length = (math.isqrt(number) for number in shape)
    square = side_by_side(np.arange(math.prod(shape)).reshape(-1, length, length, 1), side)
    moved = square.ravel()[pixel_order(square.shape)].reshape(square.shape)
    return cut_apart(moved, side).ravel()
