"""Tasks: distributions of labelled examples. They know nothing of networks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator

from whyconv.spec import Piece, build

if TYPE_CHECKING:
    import jax
    import numpy as np


Part = Literal["train", "test"]


class Sample(NamedTuple):
    """Inputs ``x``, the example on the first axis, and labels ``y``: -1 or +1, or the number of a class."""

    x: jax.Array
    y: jax.Array


class WeightedPoints(NamedTuple):
    """A finite law: inputs, labels and probabilities (float64, summing to one)."""

    x: np.ndarray
    y: np.ndarray
    probability: np.ndarray


class Task(Piece):
    """A distribution over (input, label), label in {-1, +1}, or a number from 0 where there are more classes.

    Anything the task draws once (its patterns, say) comes from ``world``; example ``i`` comes from
    ``jax.random.fold_in(draws, i)`` alone. A larger sample therefore contains the smaller one, and
    training and test examples of one seed share their world.

    A task that makes its examples of something it has read (images) holds that as ``stock``, whose arrays
    reach every compiled program as arguments: it gives ``stock``, ``shuffle`` and ``assemble``, and is
    ``streamed``: learners that can do so have examples made batch by batch, and none is held.
    """

    kind: ClassVar[str] = "task"
    streamed: ClassVar[bool] = False
    """Whether examples are better made batch by batch than once before training."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""

    @abstractmethod
    def examples(self, world: jax.Array, draws: jax.Array, index: jax.Array) -> Sample:
        """The examples with these numbers; pure and traceable."""

    def fetch(self) -> None:
        """Have what the task reads on this machine, checked; called once before workers start."""

    def stock(self, part: Part) -> Any:
        """The arrays that examples for training or for testing are made of; nothing for a task that draws."""
        del part
        return ()

    def shuffle(self, stock: Any, world: jax.Array, draws: jax.Array, epoch: int) -> Any:
        """What the examples of an epoch have in common (an order of the stock), as NumPy arrays."""
        del stock, world, draws, epoch
        return ()

    def assemble(
        self, stock: Any, order: Any, world: jax.Array, draws: jax.Array, index: jax.Array
    ) -> Sample:
        """The examples with these numbers, from the stock in the order of an epoch; pure and traceable."""
        del stock, order
        return self.examples(world, draws, index)

    @property
    def fresh(self) -> bool:
        """Whether every epoch of training has examples of its own."""
        return False

    def supply(self, part: Part) -> int | None:
        """How many different examples there are for training or testing; None where there is no end."""
        del part
        return None

    @property
    def classes(self) -> int:
        """The number of labels."""
        return 2

    def tests(self) -> Mapping[str, Task]:
        """What a predictor is tested on, by a name that columns of the row carry; the plain test has none.

        All of them share this task's lineage, so that they are the same examples, shifted, say.
        """
        return {"": self}

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
