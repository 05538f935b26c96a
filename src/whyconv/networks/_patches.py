"""Windows over images: where they lie, what they hold, and pooling.

Arrays are position-major, (row, column, example, channel): the windows of all examples at one position form
a matrix, and matrices of positions that share filters are adjacent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from whyconv.lazy import jax, jnp, np

Pair = tuple[int, int]


class Windows(NamedTuple):
    """The windows of a layer, along rows and columns.

    Along each axis there are ``counts`` windows of ``kernel`` pixels, ``stride`` apart; the first begins
    ``before`` pixels outside the image, where pixels are zero.
    """

    image: Pair
    kernel: Pair
    stride: Pair
    before: Pair
    counts: Pair

    @classmethod
    def over(cls, image: Pair, kernel: Pair, stride: Pair, same: bool) -> Windows:
        """All windows that fit; or ``same``: one for every ``stride`` pixels, padded with zeros.

        A kernel larger than the image is cut to its size.
        """
        kernel = min(kernel[0], image[0]), min(kernel[1], image[1])
        axes = [_axis(*sizes, same) for sizes in zip(image, kernel, stride, strict=True)]
        (above, rows), (left, columns) = axes
        return cls(image, kernel, stride, (above, left), (rows, columns))

    @property
    def positions(self) -> int:
        return math.prod(self.counts)

    def places(self) -> np.ndarray:
        """The pixels of every window, numbered row by row, -1 outside the image: (positions, kernel)."""
        rows, columns = (
            self.stride[axis] * np.arange(self.counts[axis])[:, None]
            + np.arange(self.kernel[axis])
            - self.before[axis]
            for axis in (0, 1)
        )
        rows, columns = rows[:, None, :, None], columns[None, :, None, :]
        inside = (rows >= 0) & (rows < self.image[0]) & (columns >= 0) & (columns < self.image[1])
        return np.where(inside, rows * self.image[1] + columns, -1).reshape(self.positions, -1)


def _axis(size: int, kernel: int, stride: int, same: bool) -> Pair:
    """(pixels before the image, windows) along an axis."""
    if not same:
        return 0, (size - kernel) // stride + 1
    count = -(-size // stride)
    return max((count - 1) * stride + kernel - size, 0) // 2, count


def cut_inputs(x: jax.Array, windows: Windows) -> jax.Array:
    """Windows of images (example, row, column, channel): (row, column, example, kernel * channel).

    One look-up of columns: no gradient is needed, kernels may be large, and this is three to ten times faster
    than one shifted image per pixel of the kernel.
    """
    examples, *_, channels = x.shape
    pixels = windows.places()
    entries = (pixels[:, :, None] * channels + np.arange(channels)).reshape(len(pixels), -1)
    held = jnp.take(x.reshape(examples, math.prod(x.shape[1:])), entries, axis=1, mode="clip")
    if (pixels < 0).any():
        held = jnp.where(np.repeat(pixels >= 0, channels, axis=1), held, 0)
    return jnp.moveaxis(held, 0, 1).reshape(*windows.counts, examples, -1)


def cut_hidden(h: jax.Array, windows: Windows) -> jax.Array:
    """Windows of (row, column, example, channel): (row, column, example, kernel * channel).

    Shifted images side by side: their gradient is a sum of shifted images, that of a look-up a scattered sum.
    (A look-up with a hand-written gradient would be as fast.)
    """
    after = [
        max((count - 1) * stride + kernel - before - size, 0)
        for size, kernel, stride, before, count in zip(*windows, strict=True)
    ]
    padding = [*zip(windows.before, after, strict=True), (0, 0), (0, 0)]
    h = jnp.pad(h, padding) if any(map(any, padding)) else h
    (rows, columns), (down, right) = windows.counts, windows.stride
    shifted = [
        h[i : i + down * (rows - 1) + 1 : down, j : j + right * (columns - 1) + 1 : right]
        for i in range(windows.kernel[0])
        for j in range(windows.kernel[1])
    ]
    return jnp.concatenate(shifted, axis=3)


def pooled(h: jax.Array, size: int, name: str, pool: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """Blocks of ``size`` x ``size`` positions, the last may be smaller, pooled by ``pool``, called ``name``.

    Maximum and average handle all blocks at once, padded with neutral values.
    """
    rows, columns, *rest = h.shape
    if name not in ("max", "average"):
        return jnp.concatenate([_row_pooled(h[at : at + size], size, pool) for at in range(0, rows, size)])
    down, right = min(size, rows), min(size, columns)  # a line is not padded to a plane
    to = -(-rows // down), -(-columns // right)
    lowest = -jnp.inf if name == "max" else 0
    padding = ((0, to[0] * down - rows), (0, to[1] * right - columns), (0, 0), (0, 0))
    blocks = jnp.pad(h, padding, constant_values=lowest).reshape(to[0], down, to[1], right, *rest)
    if name == "max":
        return blocks.max(axis=(1, 3))
    return blocks.sum(axis=(1, 3)) / pooled_counts((rows, columns), size)[:, :, None, None].astype(h.dtype)


def _row_pooled(h: jax.Array, size: int, pool: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """One row of blocks, (1, block, example, channel)."""
    blocks = [h[:, at : at + size] for at in range(0, h.shape[1], size)]
    return jnp.stack([pool(block.reshape(-1, *block.shape[2:])) for block in blocks])[None]


def pooled_counts(image: Pair, size: int) -> np.ndarray:
    """The number of positions in each block, (row, column)."""
    rows, columns = (np.minimum(size, length - np.arange(0, length, size)) for length in image)
    return rows[:, None] * columns
