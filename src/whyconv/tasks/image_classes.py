"""Images and their classes: CIFAR-10 or another set, unchanged."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from whyconv.lazy import jax, jnp, np
from whyconv.tasks import Part, images
from whyconv.tasks._image_task import ImageTask, generator, moments, on_device, standardised


class Labelled(NamedTuple):
    """Bytes (count, row, column, colour), classes, and mean and spread of the training set per colour."""

    pixels: Any
    classes: Any
    mean: Any
    spread: Any


class ImageClasses(ImageTask, name="image-classes"):
    """The images of a set and their ten classes.

    An input is (rows, columns, colours), each colour standardised by mean and spread of the training images;
    the label is the class number. A sample of size m is the first m training images in an order drawn for
    the seed: there is no replacement, and a larger sample contains the smaller one.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Figure 1 (CIFAR-10)"
    preference: ClassVar[tuple[str, ...]] = ("cifar-10",)
    classes: ClassVar[int] = 10

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns, colours)."""
        return self.image_shape()

    def refusal(self, m: int, held_out: int, test_size: int) -> str:
        """Every image is used at most once."""
        sizes: tuple[tuple[str, int, Part], ...] = (("m", m, "train"), ("test_size", test_size, "test"))
        for name, count, part in sizes:
            if count > (supply := self.image_count(part)):
                return (
                    f"{name} = {count} was given, but the task {self.name} has {supply} examples for that; "
                    "take at most as many"
                )
        return ""

    def stock(self, part: Part) -> Labelled:
        return on_device(labelled, self.images, self.batches, part)

    def shuffle(self, stock: Labelled, world: jax.Array, draws: jax.Array, epoch: int) -> np.ndarray:
        """The order in which a sample takes the images."""
        del world, epoch
        return generator(draws).permutation(len(stock.classes)).astype(np.int32)

    def compose(
        self, stock: Labelled, order: jax.Array, world: jax.Array, draws: jax.Array, index: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """The images; numbers beyond the set (padding) start over."""
        del world, draws
        chosen = jnp.asarray(order)[index % len(order)]
        return stock.pixels[chosen], stock.classes[chosen].astype(jnp.int32)

    def scaled(self, stock: Labelled, x: jax.Array) -> jax.Array:
        return standardised(stock, x)


def labelled(name: str, batches: tuple[int, ...] | None, part: Part) -> Labelled:
    """All images of a part, with the numbers to standardise them."""
    found = images.load(name, batches)
    chosen = found.train if part == "train" else found.test
    return Labelled(chosen.images, chosen.labels, *moments(found.train.images))
