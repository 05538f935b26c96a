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

from typing import TYPE_CHECKING, Any

from whyconv.lazy import jax, np
from whyconv.spec import digest

if TYPE_CHECKING:
    from whyconv.trial import Trial

_WORD, _PARITY = 0xFFFFFFFF, 0x1BD11BDA
_TURNS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""By how many bits a round rotates; groups of four rounds alternate."""


def stream(name: str, *parts: object) -> jax.Array:
    """The key of the stream ``name``, given the JSON values ``parts`` that it depends on.

    It is ``fold_in(key(first word), second word)`` of :mod:`jax.random`, without a program to compile.
    """
    words = int(digest([name, *parts])[:16], 16)
    folded: Any = np.array(threefry((0, words >> 32), (0, words & _WORD)), np.uint32)
    return jax.random.wrap_key_data(folded, impl="threefry2x32")


def threefry(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]:
    """Threefry-2x32 with 20 rounds, on words of 32 bits (Salmon et al., Parallel random numbers, SC 2011)."""
    words = (*key, key[0] ^ key[1] ^ _PARITY)
    first, second = ((c + k) & _WORD for c, k in zip(counter, key, strict=True))
    for group in range(5):
        for turn in _TURNS[group % 2]:
            first = (first + second) & _WORD
            second = ((second << turn | second >> (32 - turn)) & _WORD) ^ first
        first = (first + words[(group + 1) % 3]) & _WORD
        second = (second + words[(group + 2) % 3] + group + 1) & _WORD
    return first, second


def streams(trial: Trial) -> dict[str, jax.Array]:
    task, seed = trial.task.lineage(), trial.seed
    network = trial.network.lineage() if trial.network else None
    named = {name: stream(name, task, seed) for name in ("world", "train", "test", "validation")}
    return {**named, "init": stream("init", network, seed), "batches": stream("batches", seed)}
