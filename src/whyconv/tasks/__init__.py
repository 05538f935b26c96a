"""Tasks: distributions of labelled examples. They know nothing of networks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import BeforeValidator

from whyconv.spec import Piece, build

if TYPE_CHECKING:
    import jax
    import numpy as np


class Sample(NamedTuple):
    """Inputs ``x`` with the example on the first axis, and labels ``y`` in {-1, +1}."""

    x: jax.Array
    y: jax.Array


class WeightedPoints(NamedTuple):
    """A finite law: inputs, labels and probabilities (float64, summing to one)."""

    x: np.ndarray
    y: np.ndarray
    probability: np.ndarray


class Task(Piece):
    """A distribution over (input, label), label in {-1, +1}.

    Anything the task draws once (its patterns, say) comes from ``world``; example ``i`` comes from
    ``jax.random.fold_in(draws, i)`` alone. A larger sample therefore contains the smaller one, and
    training and test examples of one seed share their world.
    """

    kind: ClassVar[str] = "task"

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""

    @abstractmethod
    def examples(self, world: jax.Array, draws: jax.Array, index: jax.Array) -> Sample:
        """The examples with these numbers; pure and traceable."""

    def lineage(self) -> dict[str, Any]:
        """What the streams of examples depend on; tasks that share it are paired example by example."""
        return self.canonical()

    @property
    def signs(self) -> bool:
        """Whether every entry of every input is -1 or +1."""
        return False

    @property
    def population(self) -> int | None:
        """The number of inputs of a task whose sample is every input once; None for a task that draws."""
        return None

    def finite_law(self, world: jax.Array) -> WeightedPoints | None:
        """Every input with its label and probability, where they are few; None elsewhere."""
        del world
        return None

    def set_law(self, world: jax.Array) -> WeightedPoints | None:
        """The exact law for predictors that read only the *set* of an input's rows, where it is known.

        One representative input for every set, with its probability; None where there is none.
        """
        del world
        return None

    def pooled_error(self, world: jax.Array, parts: Callable[[np.ndarray], Any]) -> float | None:
        """The exact error of readout . max(0, max over rows of scores), where it is known.

        ``parts`` gives (scores, readout) for the rows an input may hold; seconds, where
        :meth:`set_law` would list too many sets.
        """
        del world, parts
        return None

    def threshold_facts(
        self, world: jax.Array, filters: np.ndarray, bias: float
    ) -> Mapping[str, float | bool] | None:
        """What the task knows without sampling of f(x) = sum_i phi_b(<w_i, x>), phi_b the soft threshold.

        ``filters`` = (w_1, w_2, ...), each of the input's shape, ``bias`` = b. None where the task has
        nothing to say of such networks.
        """
        del world, filters, bias
        return None

    def data_digest(self) -> str | None:
        """The digest of the files the task reads; None for a task that reads none."""
        return None


TaskField = Annotated[Task, BeforeValidator(lambda value: build("task", value))]
