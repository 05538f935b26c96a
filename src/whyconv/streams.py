"""Named random streams, derived so that comparisons are paired and samples are nested.

=============  =======================  ==========================================================
stream         derived from             so that
=============  =======================  ==========================================================
``world``      task, seed               training and test examples share their patterns
``train``      task, seed               every network and learner sees the same examples
``test``       task, seed               and is tested on the same ones
``validation`` task, seed               settings tried side by side are compared on separate examples
``init``       network, seed            a network starts the same on every task and at every m
``batches``    seed                     all networks see the examples in the same order
=============  =======================  ==========================================================

The sample size m enters none of them: example i is drawn from ``fold_in(train, i)``. Nothing
depends on the order of trials or on a global generator.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whyconv.lazy import jax, np
from whyconv.spec import digest

if TYPE_CHECKING:
    from whyconv.trial import Trial


def stream(name: str, *parts: object) -> jax.Array:
    """The key of the stream ``name``, given the JSON values ``parts`` that it depends on."""
    words = int(digest([name, *parts])[:16], 16)
    return jax.random.fold_in(jax.random.key(words >> 32), words & 0xFFFFFFFF)


def streams(trial: Trial) -> dict[str, jax.Array]:
    task, seed = trial.task.lineage(), trial.seed
    network = trial.network.lineage() if trial.network else None
    named = {name: stream(name, task, seed) for name in ("world", "train", "test", "validation")}
    return {**named, "init": stream("init", network, seed), "batches": stream("batches", seed)}


def pixel_order(shape: tuple[int, ...]) -> np.ndarray:
    """One permutation of the pixels of images (rows, columns, colours), the same for every seed.

    Pixel p of a permuted image is pixel ``order[p]`` of the image, with pixels numbered row by row and the
    colours of a pixel kept together. It is fixed, so that a network can start from the same function on
    permuted images.
    """
    rows, columns = shape[:2]
    return np.random.default_rng([20_200_402, rows, columns]).permutation(rows * columns)


def grid_order(shape: tuple[int, ...]) -> np.ndarray:
    """The same permutation for a square of n square grey images, in the layout of ``digit-grid``.

    Inputs (n, pixels) hold one image after the other; entry q of the flat inputs of a permuted square is
    entry ``order[q]`` of the original.
    """
    side, length = (math.isqrt(number) for number in shape)
    rows = side * length
    numbers = np.arange(rows**2).reshape(side, side, length, length).swapaxes(1, 2)
    moved = numbers.ravel()[pixel_order((rows, rows, 1))]
    return moved.reshape(side, length, side, length).swapaxes(1, 2).ravel()
