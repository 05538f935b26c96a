"""Splits of a finite set: test part and nested training order, by class and by group.

Units (examples, or groups if there are some) are dealt so that every stretch of the order has the classes in
about their shares: the r-th of the n_c units of class c, in random order, gets the place (r + u) / n_c with
u uniform in [0, 1), and units are sorted by place. A beginning of the order then has n_c t units of class c
up to one, t its share of all. The test part is the beginning, training is the rest.
"""

from __future__ import annotations

from typing import NamedTuple

from whyconv.lazy import np


class Split(NamedTuple):
    """Row numbers: for training, in order, and for tests."""

    train: np.ndarray
    test: np.ndarray


def interleaved(labels: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """A random order of units whose beginnings all have about the shares of labels of the whole."""
    places = np.empty(len(labels))
    for label in np.unique(labels):
        units = chance.permutation(np.flatnonzero(labels == label))
        places[units] = (np.arange(len(units)) + chance.random(len(units))) / len(units)
    return np.argsort(places, kind="stable")


def split(
    y: np.ndarray | None, groups: np.ndarray | None, count: int, test: int, chance: np.random.Generator
) -> Split:
    """At least ``test`` of ``count`` rows for tests, exactly so without groups; the others for training.

    ``y``: class numbers, None without classes. Rows of a group stay together, in one part and side by side;
    a group counts as of the class that most of its rows have.
    """
    labels = np.zeros(count, int) if y is None else y
    if groups is None:
        order = interleaved(labels, chance)
        return Split(order[test:], order[:test])
    names, unit = np.unique(groups, return_inverse=True)
    table = np.zeros((len(names), int(labels.max()) + 1), int)
    np.add.at(table, (unit, labels), 1)
    order = interleaved(table.argmax(axis=1), chance)
    sizes = table.sum(axis=1)[order]
    tested = int(np.searchsorted(np.cumsum(sizes), test)) + 1
    rank = np.empty(len(names), int)
    rank[order] = np.arange(len(names))
    shuffled = chance.permutation(count)
    rows = shuffled[np.argsort(rank[unit[shuffled]], kind="stable")]
    begin = int(sizes[:tested].sum())
    return Split(rows[begin:], rows[:begin])
