"""Learners: training algorithms, from a network and a sample to a predictor.

They do not know which task the sample came from.

A learner advances a *state* (a pytree of arrays) by some steps at a time. Progress, the limit on hangs, and
checkpoints are that one mechanism: between two segments the trial reports, and may store the state and
continue from it in another process. How many steps make a segment of about a second is the trial's matter
(:func:`whyconv.execution.train_in_segments`); the state holds no clock.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import BeforeValidator

from whyconv.networks import Network, Setting
from whyconv.spec import Piece, build

if TYPE_CHECKING:
    import jax
    import numpy as np

    from whyconv.tasks import Sample

State = Any


@dataclass(frozen=True)
class Maker:
    """How examples are made batch by batch, of the ``arrays`` of a :class:`Feed`."""

    shuffle: Callable[[Any, int], Any]
    """(arrays, epoch) -> the order of an epoch."""
    batch: Callable[[Any, Any, jax.Array], Sample]
    """(arrays, order, numbers of examples) -> these examples; pure and traceable."""
    fresh: bool
    """Whether every epoch has examples of its own."""


class Feed(NamedTuple):
    """Examples that are made when a batch asks for them: how, of what, and room for how many."""

    maker: Maker
    arrays: Any
    rows: int


@dataclass(frozen=True)
class Job:
    """What a learner gets: the network, the sample, and its two random streams.

    The arrays of ``sample`` may hold more rows than ``m`` (so that one compiled program serves
    many sample sizes); only the first ``m`` belong to the sample. A learner that ``streams`` may get a
    ``feed`` instead, and a sample of no rows.
    """

    network: Network | None
    sample: Sample
    m: int
    init: jax.Array
    batches: jax.Array
    feed: Feed | None = None
    kept: dict[str, Any] = field(default_factory=dict, compare=False)
    """What a learner made of the sample and needs again in the next segment."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return tuple(self.sample.x.shape[1:])


@dataclass(frozen=True)
class Fit:
    """A trained predictor: scores for inputs (example first), and what the learner has to say.

    ``facts`` become columns of the trial's row; ``trace`` holds short series (loss by step).
    """

    scores: Callable[[Any], np.ndarray]
    facts: Mapping[str, float | int | str | bool]
    trace: Mapping[str, list[float]]
    params: Any = None
    stages: Mapping[str, Any] = field(default_factory=dict)
    """Parameters on the way, by name: what the task knows of them goes into the row under that name."""


class Cost(NamedTuple):
    """A forecast: floating-point operations of the typical and of the longest run, and bytes held."""

    flops: float
    flops_limit: float
    memory: float


class Learner(Piece):
    """A training algorithm that advances in segments; ``advance`` must not depend on how it is cut."""

    kind: ClassVar[str] = "learner"
    needs_network: ClassVar[bool] = True
    streams: ClassVar[bool] = False
    """Whether it can have its examples made batch by batch."""

    def refusal(self, network: Network | None, m: int) -> str:
        """Why this network cannot be trained on m examples; empty if it can."""
        del m
        if self.needs_network and network is None:
            return f"the learner {self.name} trains a network, and none was given"
        return ""

    def trained(self, m: int) -> int:
        """How many of m examples are trained on, the first ones; the others are held out."""
        return m

    def form(self, network: Network, setting: Setting) -> Network:
        """The network as it is trained on ``setting.rows`` examples: itself, or an equal, faster form."""
        del setting
        return network

    def compiled(self) -> Learner:
        """A learner with the same compiled programs: itself, without what those take as arguments."""
        return self

    @abstractmethod
    def start(self, job: Job) -> State:
        """The state before the first segment; cheap, also used as the shape of a checkpoint."""

    @abstractmethod
    def advance(self, job: Job, state: State, steps: int) -> State:
        """The state after at most ``steps`` more steps, 1 or more."""

    @abstractmethod
    def progress(self, state: State) -> float:
        """How far the run is, from 0 to 1; exactly 1 when it is done."""

    @abstractmethod
    def finish(self, job: Job, state: State) -> Fit:
        """The predictor of a finished state."""

    def fits(self, job: Job, state: State) -> list[Fit]:
        """One predictor for every setting that was tried side by side.

        Of several, the trial keeps the one that does best on the task, not on the sample.
        """
        return [self.finish(job, state)]

    @abstractmethod
    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """What a run on ``m`` examples is going to take."""


def at_most(value: jax.Array, limit: float) -> bool:
    """Whether a number of the state is at most ``limit``, compared as compiled programs do: in its precision.

    0.1 in single precision is above 0.1, so that a program that stops there would be asked to go on.
    """
    return bool(value <= value.dtype.type(limit))


LearnerField = Annotated[Learner, BeforeValidator(lambda value: build("learner", value))]
