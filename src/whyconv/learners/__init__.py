"""Learners: training algorithms, from a network and a sample to a predictor.

They do not know which task the sample came from.

A learner advances a *state* (a pytree of arrays) by some steps at a time. Progress, the limit on hangs, and
checkpoints are that one mechanism: between two segments the trial reports, and may store the state and
continue from it in another process. The trial decides how many steps make a segment of about a second
(:func:`whyconv.execution.train_in_segments`); the state holds no clock.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import BeforeValidator

from whyconv.lazy import jax, np
from whyconv.networks import Network, Setting
from whyconv.spec import Piece, build

if TYPE_CHECKING:
    from whyconv.tasks import Sample

State = Any


@dataclass(frozen=True)
class Maker:
    """Makes examples batch by batch from the ``arrays`` of a :class:`Feed`."""

    shuffle: Callable[[Any, int], Any] = field(compare=False)
    """(arrays, epoch) -> the order of an epoch; no part of compiled programs."""
    batch: Callable[[Any, Any, jax.Array], Sample]
    """(arrays, order, example numbers) -> these examples; pure and traceable."""
    fresh: bool
    """Whether every epoch has new examples."""
    brief: bool = False
    """Whether training takes seconds, so that less time is spent on compiling it."""


class Feed(NamedTuple):
    """Examples made on demand, batch by batch: how, from what, and room for how many."""

    maker: Maker
    arrays: Any
    rows: int


@dataclass(frozen=True)
class Job:
    """What a learner gets: the network, the sample, and its two random streams.

    The arrays of ``sample`` may hold more than ``m`` rows, so that one compiled program serves many sample
    sizes; only the first ``m`` count. A learner that ``streams`` may get a ``feed`` and an empty sample.
    """

    network: Network | None
    sample: Sample
    m: int
    init: jax.Array
    batches: jax.Array
    feed: Feed | None = None
    weights: Any = ()
    """How much each row counts in the loss, 1 on average over the first ``m``; empty: all count alike."""
    kept: dict[str, Any] = field(default_factory=dict, compare=False)
    """What a learner computed from the sample and reuses in later segments."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sample.x.shape[1:])


@dataclass(frozen=True)
class Fit:
    """A trained predictor: scores for inputs (example first), and what the learner reports.

    ``facts`` become columns of the trial's row; ``trace`` holds short series (loss by step).
    """

    scores: Callable[[Any], np.ndarray]
    facts: Mapping[str, float | int | str | bool]
    trace: Mapping[str, list[float]]
    params: Any = None
    stages: Mapping[str, Any] = field(default_factory=dict)
    """Intermediate parameters by name; what the task knows about them goes into the row under that name."""


class Cost(NamedTuple):
    """A forecast: floating-point operations of a typical and of the longest run, and memory in bytes."""

    flops: float
    flops_limit: float
    memory: float


class Learner(Piece):
    """A training algorithm that advances in segments; results must not depend on where they are cut."""

    kind: ClassVar[str] = "learner"
    needs_network: ClassVar[bool] = True
    streams: ClassVar[bool] = False
    """Whether it accepts examples made batch by batch."""

    def refusal(self, network: Network | None, m: int) -> str:
        """Why this network cannot be trained on m examples; empty if it can."""
        del m
        if self.needs_network and network is None:
            return f"the learner {self.name} needs a network, but none was given"
        return ""

    def trained(self, m: int) -> int:
        """How many of m examples, counted from the first, are trained on; the others are held out."""
        return m

    def scores_given(self, classes: int) -> int:
        """How many scores per example it gives without a network."""
        del classes
        return 1

    def form(self, network: Network, setting: Setting) -> Network:
        """The network to train on ``setting.rows`` examples: itself, or an equal, faster form."""
        del setting
        return network

    def compiled(self) -> Learner:
        """This learner without the settings that its compiled programs take as arguments."""
        return self

    @abstractmethod
    def start(self, job: Job) -> State:
        """The state before the first segment; cheap, since checkpoints are also compared with its shape."""

    @abstractmethod
    def advance(self, job: Job, state: State, steps: int) -> State:
        """The state after at most ``steps`` >= 1 more steps."""

    @abstractmethod
    def progress(self, state: State) -> float:
        """The finished share of the run, from 0 to exactly 1."""

    @abstractmethod
    def finish(self, job: Job, state: State) -> Fit:
        """The predictor of a finished state."""

    def fits(self, job: Job, state: State) -> list[Fit]:
        """One predictor for every setting trained side by side.

        The trial keeps the one that does best on the task, not on the sample.
        """
        return [self.finish(job, state)]

    @abstractmethod
    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """The forecast for a run on ``m`` examples."""


def at_most(value: jax.Array, limit: float) -> bool:
    """Whether a number of the state is at most ``limit``, compared in its precision, as compiled programs do.

    0.1 in single precision is above 0.1, so a program that stops there would otherwise be asked to continue.
    """
    return bool(np.asarray(value) <= value.dtype.type(limit))


LearnerField = Annotated[Learner, BeforeValidator(lambda value: build("learner", value))]
