"""Networks: hypothesis classes. They know nothing of tasks and of training."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BeforeValidator

from whyconv.spec import Piece, build

if TYPE_CHECKING:
    import jax

Params = Any


class Network(Piece):
    """A family of functions from inputs to real scores; the sign is the predicted label, sign(0) = -1."""

    kind: ClassVar[str] = "network"
    example_axis: ClassVar[int] = 0
    """The axis of the *prepared* inputs that counts examples."""

    @abstractmethod
    def init(self, key: jax.Array, shape: tuple[int, ...]) -> Params:
        """Random parameters for inputs of this shape, in the default floating type in force."""

    def prepare(self, x: jax.Array) -> jax.Array:
        """Inputs (example first) in the memory layout ``apply`` likes; called once, outside the loop."""
        return x

    @abstractmethod
    def apply(self, params: Params, x: jax.Array) -> jax.Array:
        """The score of every example of the prepared inputs ``x``."""

    @abstractmethod
    def parameter_count(self, shape: tuple[int, ...]) -> int:
        """The number of parameters, in closed form."""

    @abstractmethod
    def flops(self, shape: tuple[int, ...]) -> int:
        """Multiplications and additions of one forward pass on one example, in closed form."""

    def pooled_parts(self, params: Params, rows: Any) -> tuple[Any, Any] | None:
        """(scores, readout) if the network is readout . max(0, max over rows of scores).

        Scores have the shape (channels, rows); None for any other network.
        """
        del params, rows
        return None

    def reads_set(self, shape: tuple[int, ...]) -> bool:
        """Whether the score depends on the input only through the set of its rows."""
        del shape
        return False


NetworkField = Annotated[Network, BeforeValidator(lambda value: build("network", value))]
