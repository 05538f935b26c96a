"""Digits in a square, one of which determines the label: the MNIST experiment of Brutzkus & Globerson."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from pydantic import Field, model_validator

from whyconv.lazy import jax, jnp
from whyconv.pixels import cut_apart, side_by_side
from whyconv.tasks import Part, images
from whyconv.tasks._image_task import ImageTask, on_device, words


class Kinds(NamedTuple):
    """Images as bytes, (count, row, column, colour): those of both classes, and all the others."""

    positive: Any
    negative: Any
    spurious: Any


class DigitGrid(ImageTask, name="digit-grid"):
    """Four digits in a square; the label is whether the 3 or the 5 is among them.

    y = +1 or -1 with probability 1/2; a uniformly random position of the ``side`` x ``side`` ones holds an
    image of the digit ``positive`` or ``negative`` accordingly, the others independent, uniform images of
    digits that are neither. Images are drawn with replacement, those for training from the training images
    and those for testing from the test images. Pixels go from 0 to 1.

    An input is x = (x[1], ..., x[n]), n = side^2, x[j] the pixels of one digit: the layout of the task
    ``detection``, for the same networks. A shift or permutation acts on the whole image before it is cut into
    digits. The paper says "four digits" and shows squares; it does not say how images are drawn.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, section 7 and Figure 5"

    side: int = Field(2, ge=1, le=10)
    positive: int = Field(3, ge=0, le=9)
    negative: int = Field(5, ge=0, le=9)

    @model_validator(mode="after")
    def _two_classes(self) -> DigitGrid:
        if self.positive == self.negative:
            raise ValueError(f"positive = negative = {self.positive} was given; take two different digits")
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, pixels of a digit)."""
        return (self.side**2, math.prod(self.image_shape()))

    def stock(self, part: Part) -> Kinds:
        return on_device(kinds, self.images, self.batches, part, self.positive, self.negative)

    def contents(
        self, stock: Kinds, draws: jax.Array, index: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """Labels, deciding positions, the image of the class there, and the other images, (example, n).

        A word modulo s is uniform up to s / 2^32.
        """
        lots = words(jax.random.fold_in(draws, 0), index, 3 + self.side**2)
        positive = lots[:, 0] % 2 == 0
        which = lots[:, 2] % jnp.where(positive, len(stock.positive), len(stock.negative)).astype(jnp.uint32)
        others = lots[:, 3:] % len(stock.spurious)
        return jnp.where(positive, 1, -1), lots[:, 1] % self.side**2, which, others

    @property
    def columns(self) -> int:
        """The width of all digits side by side."""
        return self.side * self.image_shape()[1]

    def compose(
        self, stock: Kinds, order: Any, world: jax.Array, draws: jax.Array, index: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        del order, world
        labels, place, which, others = self.contents(stock, draws, index)
        deciding = jnp.where((labels > 0)[:, None, None, None], stock.positive[which], stock.negative[which])
        here = jnp.arange(self.side**2) == place[:, None]
        x = jnp.where(here[:, :, None, None, None], deciding[:, None], stock.spurious[others])
        return side_by_side(x, self.side), labels.astype(float)

    def inputs(self, x: jax.Array) -> jax.Array:
        """The image cut into its digits, row by row."""
        return cut_apart(x, self.side).reshape(-1, *self.shape)


def kinds(name: str, batches: tuple[int, ...] | None, part: Part, positive: int, negative: int) -> Kinds:
    """The images of a part of the set: positive, negative, others."""
    found = images.load(name, batches)
    pixels, labels = found.train if part == "train" else found.test
    either = (labels == positive) | (labels == negative)
    return Kinds(pixels[labels == positive], pixels[labels == negative], pixels[~either])
