"""Views: what a network shows of itself, in plain arrays, so that tasks can compute facts about it.

A network shows one view of its parameters (:meth:`whyconv.networks.Network.view`); a task returns what it
knows about that view without sampling (:meth:`whyconv.tasks.Task.points`, :meth:`whyconv.tasks.Task.facts`).
"""

from __future__ import annotations

from dataclasses import dataclass

from whyconv.lazy import jax, np


@dataclass(frozen=True)
class View:
    """What a network shows; a new kind of network adds a subclass."""


@dataclass(frozen=True)
class RowSet(View):
    """The score depends only on the *set* of an input's rows, not on their order or repetition."""


@dataclass(frozen=True)
class Pooled(RowSet):
    """f(x) = sum_i a_i max(0, max over rows j of <w_i, x_j>).

    ``filters`` = w of shape (entries of a row, channels), ``readout`` = a of shape (channels,).
    """

    filters: jax.Array
    readout: jax.Array


@dataclass(frozen=True)
class Thresholds(View):
    """f(x) = sum_i phi_b(<w_i, x>) with the soft threshold phi_b(z) = sign(z) max(|z| - b, 0).

    The flat input is cut into equal parts, one for each entry on the first axis of ``local``, (part, node,
    entry); a node sees only its own part. ``bias`` = b.
    """

    local: np.ndarray
    bias: float

    @property
    def filters(self) -> np.ndarray:
        """(w_1, w_2, ...) as (node, all entries of the input), zero where a node does not look."""
        parts, nodes, entries = self.local.shape
        filters = np.zeros((parts, nodes, parts, entries))
        filters[np.arange(parts), :, np.arange(parts)] = self.local
        return filters.reshape(parts * nodes, parts * entries)


@dataclass(frozen=True)
class FirstLayer(View):
    """The ``filters`` of the first layer as images, (filter, row, column, colour)."""

    filters: np.ndarray
