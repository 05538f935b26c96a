"""Tasks: distributions of labelled examples. They know of networks only what these show (:mod:`.views`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator

from whyconv.spec import Piece, build
from whyconv.views import View

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
    """

    kind: ClassVar[str] = "task"
    classes: ClassVar[int] = 2
    """The number of labels."""
    signs: ClassVar[bool] = False
    """Whether every entry of every input is -1 or +1."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""

    @abstractmethod
    def examples(self, world: jax.Array, draws: jax.Array, index: jax.Array) -> Sample:
        """The examples with these numbers; pure and traceable."""

    def refusal(self, m: int, held_out: int, test_size: int) -> str:
        """Why there are no m examples, of which some are held out, and as many tests; empty if there are."""
        del m, held_out, test_size
        return ""

    def tests(self) -> Mapping[str, Task]:
        """What a predictor is tested on, by a name that columns of the row carry; the plain test has none.

        All of them share this task's lineage, so that they are the same examples, shifted, say.
        """
        return {"": self}

    def lineage(self) -> dict[str, Any]:
        """What the streams of examples depend on; tasks that share it are paired example by example."""
        return self.canonical()

    def points(self, world: jax.Array, view: View | None, exact: bool) -> WeightedPoints | None:
        """Inputs that stand for all, with their probabilities, where the task knows them; else None.

        A predictor that shows a ``view`` need not tell all inputs apart: one of each kind is enough.
        ``exact``: also where there are so many that scoring them takes seconds.
        """
        del world, view, exact

    def facts(
        self, world: jax.Array, view: View | None, exact: bool, risk: bool
    ) -> Mapping[str, float | bool]:
        """What the task knows of a predictor that shows this view without sampling, as columns of a row.

        ``exact``: also an ``exact_error`` that takes seconds, where :meth:`points` has none.
        ``risk``: also the squared ``risk`` E (y - f)^2, and what goes with it.
        """
        del world, view, exact, risk
        return {}

    def data_digest(self) -> str | None:
        """The digest of the files the task reads; None for a task that reads none."""
        return None


class StreamedTask(Task):
    """A task whose examples are made, batch by batch, of something it has read (images).

    What it has read is its ``stock``, whose arrays reach every compiled program as arguments. Learners that
    can do so have examples made when a batch asks for them, and none is held.
    """

    @property
    def fresh(self) -> bool:
        """Whether every epoch of training has examples of its own."""
        return False

    @abstractmethod
    def fetch(self) -> None:
        """Have what the task reads on this machine, checked; called once before workers start."""

    @abstractmethod
    def stock(self, part: Part) -> Any:
        """The arrays that examples for training or for testing are made of."""

    def shuffle(self, stock: Any, world: jax.Array, draws: jax.Array, epoch: int) -> Any:
        """What the examples of an epoch have in common (an order of the stock), as NumPy arrays."""
        del stock, world, draws, epoch
        return ()

    @abstractmethod
    def assemble(
        self, stock: Any, order: Any, world: jax.Array, draws: jax.Array, index: jax.Array
    ) -> Sample:
        """The examples with these numbers, from the stock in the order of an epoch; pure and traceable."""

    def examples(self, world: jax.Array, draws: jax.Array, index: jax.Array) -> Sample:
        """The numbered training examples of the first epoch."""
        stock = self.stock("train")
        return self.assemble(stock, self.shuffle(stock, world, draws, 0), world, draws, index)


TaskField = Annotated[Task, BeforeValidator(lambda value: build("task", value))]
