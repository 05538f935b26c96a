"""The seeds that claims draw with: the recorded ones, or a set of others that shares none with them.

A claim asks for its seeds each time it is decided, and gives them to whatever it caches. Set 0 is recorded;
:func:`chosen` puts another in force, in which every seed is larger by :func:`offset`, so that a claim can be
decided again on seeds that nobody has seen (``python -m whyconv.seeds``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from whyconv.lazy import np

BEYOND, APART = 500_000, 20_000
"""Seeds of the first other set begin ``BEYOND`` the recorded ones, those of the next ``APART`` further on."""


@dataclass
class Draws:
    """The set in force, and whether anything asked for its seeds."""

    number: int = 0
    asked: bool = False


_in_force = [Draws()]
"""The last one counts."""


@contextmanager
def chosen(number: int) -> Iterator[Draws]:
    """Set ``number`` is in force; tells whether what runs inside draws at all."""
    _in_force.append(Draws(number))
    try:
        yield _in_force[-1]
    finally:
        _in_force.pop()


def offset() -> int:
    """What the set in force adds to a recorded seed."""
    draws = _in_force[-1]
    draws.asked = True
    return BEYOND + APART * draws.number if draws.number else 0


def draw_seeds(count: int = 20, first: int = 0) -> range:
    """A claim's seeds: ``count`` from ``first`` on, in the set in force."""
    if count > APART:
        raise ValueError(f"{count} seeds would run into those of the next set; at most {APART} are apart")
    start = first + offset()
    return range(start, start + count)


def generator(word: int) -> np.random.Generator:
    """The one generator of a claim that needs no more than one, named by ``word``."""
    moved = offset()
    return np.random.default_rng([word, moved] if moved else word)
