"""Tasks: distributions of labelled examples. They know only views of networks (:mod:`.views`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator

from whyconv.lazy import jax, np
from whyconv.spec import Piece, build
from whyconv.views import View

Part = Literal["train", "test"]


class Sample(NamedTuple):
    """Inputs ``x``, the example on the first axis, and labels ``y``: -1 or +1, or a class number."""

    x: jax.Array
    y: jax.Array


class WeightedPoints(NamedTuple):
    """A finite law: inputs, labels and probabilities (float64, summing to one)."""

    x: np.ndarray
    y: np.ndarray
    probability: np.ndarray


class Task(Piece):
    """A distribution over (input, label), label in {-1, +1}, or a class number from 0 if there are more.

    Whatever is drawn once per seed (patterns, for example) comes from ``world``; example ``i`` depends on
    ``jax.random.fold_in(draws, i)`` alone. A larger sample therefore contains the smaller one, and training
    and test examples of a seed share their world.
    """

    kind: ClassVar[str] = "task"
    classes: ClassVar[int] = 2
    """The number of labels."""
    signs: ClassVar[bool] = False
    """Whether every entry of every input is -1 or +1."""

    @cached_property
    def numbers(self) -> Mapping[str, Any]:
        """What :meth:`examples` reads here and compiled samplers take as arguments: numbers and NumPy arrays.

        They come from settings that change no shape, such as the strength of noise. A task that has some also
        defines :meth:`compiled`; one without is compiled again for every value of its settings.
        """
        return {}

    def compiled(self) -> Task:
        """This task without the values that are read from :attr:`numbers`; equal ones share their programs.

        A setting that switches something on keeps a value that is not zero.
        """
        return self

    def shared(self) -> Task:
        """What samplers are compiled for: :meth:`compiled`, unless a user's class inherits it from ours.

        Such a class may read settings where ours reads :attr:`numbers`.
        """
        inherited = self.origin and "compiled" not in vars(type(self))
        return self if inherited else self.compiled()

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""

    @abstractmethod
    def examples(self, world: jax.Array, draws: jax.Array, index: jax.Array) -> Sample:
        """The examples with these numbers; pure and traceable."""

    def refusal(self, m: int, held_out: int, test_size: int) -> str:
        """Why there cannot be m examples, some held out, and ``test_size`` tests; empty if there can."""
        del m, held_out, test_size
        return ""

    def tests(self) -> Mapping[str, Task]:
        """The test distributions by name, which becomes part of column names; the plain test's name is empty.

        All share this task's lineage: they are the same examples, shifted for example.
        """
        return {"": self}

    def lineage(self) -> dict[str, Any]:
        """What the streams of examples depend on; tasks that share it are paired example by example."""
        return self.canonical()

    def points(self, world: jax.Array, view: View | None, exact: bool) -> WeightedPoints | None:
        """Inputs that represent all others, with their probabilities, if the task can list them; else None.

        A predictor with a ``view`` may score many inputs alike: one of each kind is enough.
        ``exact``: also if there are so many that scoring them takes seconds.
        """
        del world, view, exact

    def facts(
        self, world: jax.Array, view: View | None, exact: bool, risk: bool
    ) -> Mapping[str, float | bool]:
        """What the task knows, without sampling, about a predictor with this view, as columns of a row.

        ``exact``: also an ``exact_error`` that takes seconds, if :meth:`points` returns None.
        ``risk``: also the squared ``risk`` E (y - f)^2, and related numbers.
        """
        del world, view, exact, risk
        return {}

    def revealed(self, world: jax.Array) -> Mapping[str, Any]:
        """What is drawn once per seed, as arrays by name: patterns, a signal."""
        del world
        return {}

    def known(self, world: jax.Array) -> Mapping[str, float]:
        """What is known exactly of the distribution, such as the least risk."""
        del world
        return {}

    def measures(self, scores: np.ndarray, y: np.ndarray) -> Mapping[str, float]:
        """What is measured on examples with these scores and labels, by name; columns of a row."""
        return {"error": int(np.sum(predicted(scores) != y)) / len(y)}

    def room(self, m: int) -> int | None:
        """The padded number of training rows; None: the usual one."""
        del m

    def data_digest(self) -> str | None:
        """The digest of the files that the task reads; None if it reads none."""
        return None


class StreamedTask(Task):
    """A task whose examples are made, batch by batch, from data it has read, such as images.

    These data are its ``stock``, whose arrays are arguments of every compiled program. Learners that support
    it get their examples on demand, and none is kept.
    """

    brief: ClassVar[bool] = False
    """Whether trials take seconds: then programs are compiled in less time than they would run longer."""

    @property
    def fresh(self) -> bool:
        """Whether every epoch of training has new examples."""
        return False

    @abstractmethod
    def fetch(self) -> None:
        """Find or download the data, and check them; called once, before workers start."""

    def absent(self) -> str:
        """Why :meth:`fetch` would have to download the data, in a clause; empty if they are here."""
        return ""

    def kept_files(self) -> tuple[Path, ...]:
        """Files with the data that are kept with the rows of a run, and nowhere else."""
        return ()

    @abstractmethod
    def stock(self, part: Part) -> Any:
        """The arrays from which training or test examples are made."""

    def shuffle(self, stock: Any, world: jax.Array, draws: jax.Array, epoch: int) -> Any:
        """What the examples of an epoch share (an order of the stock), as NumPy arrays."""
        del stock, world, draws, epoch
        return ()

    @abstractmethod
    def assemble(
        self, stock: Any, order: Any, world: jax.Array, draws: jax.Array, index: jax.Array
    ) -> Sample:
        """The examples with these numbers, from the stock in the order of an epoch; pure and traceable."""

    def examples(self, world: jax.Array, draws: jax.Array, index: jax.Array) -> Sample:
        """The training examples of the first epoch."""
        stock = self.stock("train")
        return self.assemble(stock, self.shuffle(stock, world, draws, 0), world, draws, index)


def predicted(scores: np.ndarray) -> np.ndarray:
    """The sign of a single score, with sign(0) = -1; the index of the largest of several scores."""
    return np.where(scores > 0, 1, -1) if scores.ndim == 1 else np.argmax(scores, axis=1)


TaskField = Annotated[Task, BeforeValidator(lambda value: build("task", value))]
