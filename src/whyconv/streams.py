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

from typing import TYPE_CHECKING

from whyconv.lazy import jax
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
