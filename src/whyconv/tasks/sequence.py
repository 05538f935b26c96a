"""Digits side by side, and the parity of three of them: the experiments of Malach & Shalev-Shwartz."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from whyconv.lazy import jax, jnp, np
from whyconv.tasks import Part, images
from whyconv.tasks._image_task import ImageTask, generator, moments, on_device, standardised

ROWS, COLUMNS = 24, 8
ROUNDS = 1024
"""Passes through the list of digits before sequences repeat."""
Cut = Literal["squeeze", "crop"]


class Digits(NamedTuple):
    """Digits of 24 x 8 bytes, (count, 24, 8), and +1 for the even ones, -1 for the odd ones.

    ``mean`` and ``spread`` are taken over the bytes of all training digits.
    """

    pixels: Any
    signs: Any
    mean: Any
    spread: Any


class Order(NamedTuple):
    """A permutation of the list of digits for every position, (n, digits in the list), and its cyclic shift
    in every pass through the list, (passes, n), 0 in the first.
    """

    digits: Any
    turns: Any


class Sequence(ImageTask, name="sequence"):
    """Images of n digits side by side; the label is the parity of some of them, usually three.

    An input is 24 x 8n pixels, standardised over all training digits; y = +1 if the sum of the ``counted``
    digits is even, else -1.
    ``where``: *middle* counts the middle ones (Figure 3), *spread* the first, the middle and the last
    (Figure 4). Symbols: ``digits`` = n.

    Sequences are made by permuting the list of digits independently for every position, and again in every
    epoch if ``reshuffled``; sequences beyond the list's length pass through it again, with another cyclic
    shift at every position. A larger sample contains the smaller one.

    The paper says "scaled and cropped to 24x8": ``cut`` *crop* takes the middle 24 rows of the 28 x 28
    pixels, averages pairs of columns and takes the middle eight, losing the sides; *squeeze* takes the
    middle 24 x 24 pixels and averages triples of columns. In embedded digits of 8 x 8 every row is repeated
    three times. The paper does not mention standardising: with pixels from 0 to 1 AdaDelta needs twice the
    epochs.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 5"

    digits: int = Field(13, ge=1, le=1000)
    where: Literal["middle", "spread"] = "middle"
    counted: int = Field(3, ge=1, le=100)
    reshuffled: bool = True
    cut: Cut = "crop"

    @model_validator(mode="after")
    def _fits(self) -> Sequence:
        if self.counted > self.digits:
            raise ValueError(
                f"counted = {self.counted} digits were given, but there are digits = {self.digits}; "
                "take fewer"
            )
        if self.image_shape()[2] > 1:
            raise ValueError(
                f"images = {self.images} was given, but sequences take mnist, fashion-mnist or digits"
            )
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """(24, 8n, 1)."""
        return (ROWS, COLUMNS * self.digits, 1)

    @property
    def fresh(self) -> bool:
        """``reshuffled``."""
        return self.reshuffled

    def places(self) -> list[int]:
        """The positions of the digits that count, from 0."""
        if self.where == "middle":
            first = (self.digits - self.counted) // 2
            return list(range(first, first + self.counted))
        if self.counted == 1:
            return [self.digits // 2]
        return [round(i * (self.digits - 1) / (self.counted - 1)) for i in range(self.counted)]

    def stock(self, part: Part) -> Digits:
        return on_device(cut_digits, self.images, part, self.cut)

    def shuffle(self, stock: Digits, world: jax.Array, draws: jax.Array, epoch: int) -> Order:
        """Permutations for every position, and the cyclic shifts of later passes."""
        del world
        count, rng = len(stock.signs), generator(draws, epoch if self.reshuffled else 0)
        orders = rng.permuted(np.tile(np.arange(count, dtype=np.int32), (self.digits, 1)), axis=1)
        turns = rng.integers(count, size=(ROUNDS, self.digits), dtype=np.int32)
        turns[0] = 0
        return Order(orders, turns)

    def chosen(self, order: Order, index: jax.Array) -> jax.Array:
        """The indices of the digits in each sequence, (example, n)."""
        count = order.digits.shape[1]
        turns = jnp.asarray(order.turns)[index // count % ROUNDS]
        return jnp.asarray(order.digits)[jnp.arange(self.digits), (index[:, None] + turns) % count]

    def compose(
        self, stock: Digits, order: Order, world: jax.Array, draws: jax.Array, index: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Digits side by side, and the product of the signs of those that count."""
        del world, draws
        chosen = self.chosen(order, index)
        rows = jnp.swapaxes(stock.pixels[chosen], 1, 2).reshape(len(index), *self.shape)
        signs = stock.signs[chosen[:, np.asarray(self.places())]]
        return rows, signs.prod(axis=1).astype(float)

    def scaled(self, stock: Digits, x: jax.Array) -> jax.Array:
        return standardised(stock, x)


def cut_digits(name: str, part: Part, cut: Cut) -> Digits:
    """All digits of a part as 24 x 8 bytes."""
    found = images.load(name)
    pixels, labels = found.train if part == "train" else found.test
    training = narrow(found.train.images[..., 0], cut)
    return Digits(
        training if part == "train" else narrow(pixels[..., 0], cut),
        (1 - 2 * (labels.astype(np.int8) % 2)).astype(np.int8),
        *moments(training[..., None]),
    )


def narrow(pixels: np.ndarray, cut: Cut) -> np.ndarray:
    """Images of 28 x 28 or 8 x 8 bytes as 24 x 8 bytes."""
    count, rows, _ = pixels.shape
    if rows == COLUMNS:
        return np.repeat(pixels, ROWS // COLUMNS, axis=1)
    if cut == "squeeze":
        parts = pixels[:, 2:-2, 2:-2].reshape(count, ROWS, COLUMNS, 3)
    else:
        parts = pixels[:, 2:-2].reshape(count, ROWS, 14, 2)[:, :, 3:11]
    return np.round(parts.mean(axis=-1)).astype(np.uint8)
