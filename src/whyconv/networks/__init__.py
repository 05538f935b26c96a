"""Networks: hypothesis classes. They know nothing about tasks or training."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import BeforeValidator

from whyconv.lazy import jax
from whyconv.spec import Piece, build
from whyconv.views import View

Params = Any


class Setting(NamedTuple):
    """What a faster, equal form of a network may rely on.

    ``shape``: the shape of an input; ``signs``: inputs are -1 and +1; ``rows``: examples per step;
    ``elementwise``: the optimiser treats every parameter separately, so that equal parameters with equal
    gradients stay equal.
    """

    shape: tuple[int, ...]
    signs: bool
    rows: int
    elementwise: bool = False


class Load(NamedTuple):
    """A forecast of forward passes: operations at the usual rate, and numbers in a copy of the parameters.

    Forms that look up or count equal parameters need less than the closed forms say.
    """

    flops: float
    numbers: int


class Network(Piece):
    """A family of functions from inputs to real scores; the sign is the predicted label, sign(0) = -1.

    With ``score_count`` > 1 there is a score for every class, and the largest is the prediction.
    """

    kind: ClassVar[str] = "network"
    example_axis: ClassVar[int] = 0
    """The example axis of *prepared* inputs."""
    chunk: ClassVar[int] = 128
    """Examples per call of ``apply`` if the whole sample is a batch."""

    @property
    def score_count(self) -> int:
        """Scores per example; single scores have shape (examples,), several have one more axis."""
        return 1

    def lineage(self) -> dict[str, Any]:
        """What the random stream of initial parameters depends on; networks that share it start alike."""
        return self.canonical()

    @abstractmethod
    def init(self, key: jax.Array, shape: tuple[int, ...]) -> Params:
        """Random parameters for inputs of this shape, in the current default floating type."""

    def prepare(self, x: jax.Array) -> jax.Array:
        """Inputs (example first) in the memory layout ``apply`` expects; called once, outside the loop."""
        return x

    def refusal(self, shape: tuple[int, ...]) -> str:
        """Why inputs of this shape cannot be read; empty if they can."""
        del shape
        return ""

    @property
    def fixed(self) -> tuple[str, ...]:
        """Names of parameters that are not trained; parameters must then be a dictionary."""
        return ()

    def constrain(self, params: Params) -> Params:
        """The nearest parameters of the hypothesis class; learners apply it after every step."""
        return params

    def derive(self, params: Params) -> Any:
        """What ``apply`` reads: the parameters, or something computed from them once per step."""
        return params

    def faster(self, setting: Setting) -> Network:
        """A network equal to this one up to rounding that trains faster in this setting; or itself."""
        del setting
        return self

    @property
    def form(self) -> str:
        """What a faster form has rewritten, in words; empty for the plain network."""
        return ""

    @abstractmethod
    def apply(self, params: Any, x: jax.Array) -> jax.Array:
        """The scores of the prepared inputs ``x``; ``params`` is what :meth:`derive` returns."""

    @abstractmethod
    def parameter_count(self, shape: tuple[int, ...]) -> int:
        """The number of parameters, in closed form."""

    @abstractmethod
    def flops(self, shape: tuple[int, ...]) -> int:
        """Multiplications and additions of one forward pass on one example, in closed form."""

    def load(self, shape: tuple[int, ...], rows: int) -> Load:
        """The forecast for a forward pass on ``rows`` examples."""
        return Load(float(self.flops(shape)) * rows, self.parameter_count(shape))

    def view(self, params: Params, shape: tuple[int, ...]) -> View | None:
        """What the trained network shows of itself (:mod:`whyconv.views`), if anything."""
        del params, shape


NetworkField = Annotated[Network, BeforeValidator(lambda value: build("network", value))]
