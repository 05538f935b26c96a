"""What tasks on real images share: the source of the images, and the controls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from whyconv.lazy import jax, jnp, np
from whyconv.pixels import pixel_order
from whyconv.tasks import Part, Sample, StreamedTask, Task, images
from whyconv.tasks.images.catalogue import BATCHED, known

CONTROLS = ("permuted", "shuffled_labels", "shift", "shifted_tests")
"""Fields that do not change which examples are drawn."""


class ImageTask(StreamedTask):
    """Examples made from an image set: training images for training, test images for testing.

    ``images`` is the set's name; *auto* becomes the first set of ``preference`` found on this machine, or the
    digits that ship with scikit-learn. ``batches`` are CIFAR-10's training batches; by default those found.
    Images stay bytes; examples are made from them batch by batch, inside the compiled program.

    Controls, each off by default; all use the same examples as the plain task:

    - ``permuted``: the pixels of the whole image are permuted, in the same way for every seed
      (:func:`whyconv.pixels.pixel_order`), so that windows no longer hold neighbouring pixels;
    - ``shuffled_labels``: training labels are independent of the images; test labels are kept;
    - ``shifted_tests``: the trained predictor is also tested on images moved right by that many pixels, with
      black filling the left. ``shift`` is one such test.
    """

    preference: ClassVar[tuple[str, ...]] = ("mnist",)

    images: str = "auto"
    batches: tuple[int, ...] | None = None
    permuted: bool = False
    shuffled_labels: bool = False
    shift: int = Field(0, ge=0, le=100)
    shifted_tests: tuple[int, ...] = ()

    @field_validator("images", mode="before")
    @classmethod
    def _known(cls, name: Any) -> Any:
        return images.resolve(name, cls.preference) if isinstance(name, str) else name

    @model_validator(mode="before")
    @classmethod
    def _found(cls, values: Any) -> Any:
        """The batches of CIFAR-10, in order; none for sets without batches."""
        if not isinstance(values, dict) or not isinstance(values.get("images", "auto"), str):
            return values
        name, batches = images.resolve(values.get("images", "auto"), cls.preference), values.get("batches")
        if batches is not None:
            given = tuple(batches) if isinstance(batches, list | tuple) else (batches,)
            batches = images.in_order(BATCHED, given)
        elif known(name).batched:
            batches = images.batches_here()
        return {**values, "batches": batches if known(name).batched else None}

    @field_validator("shifted_tests")
    @classmethod
    def _positive(cls, shifts: tuple[int, ...]) -> tuple[int, ...]:
        if min(shifts, default=1) < 1 or len(set(shifts)) < len(shifts):
            raise ValueError("shifted_tests must be distinct numbers of pixels, 1 or more, as in [1, 2, 4]")
        return shifts

    @model_validator(mode="after")
    def _inside(self) -> ImageTask:
        if (largest := max((self.shift, *self.shifted_tests))) >= self.columns:
            raise ValueError(
                f"a shift by {largest} pixels was given, but images are {self.columns} pixels wide; take less"
            )
        return self

    @property
    def columns(self) -> int:
        return self.shape[1]

    @abstractmethod
    def compose(
        self, stock: Any, order: Any, world: jax.Array, draws: jax.Array, index: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """The images (example, row, column, colour) as bytes, and the labels."""

    def scaled(self, stock: Any, x: jax.Array) -> jax.Array:
        """Bytes as the numbers from 0 to 1 that networks see."""
        del stock
        return x.astype(float) / 255

    def inputs(self, x: jax.Array) -> jax.Array:
        """Whole images as inputs of this task's shape."""
        return x.reshape(x.shape[0], *self.shape)

    def noise_labels(self, draws: jax.Array, index: jax.Array) -> jax.Array:
        """Uniform labels, independent of the images."""
        word = words(jax.random.fold_in(draws, 8), index, 1)[:, 0]
        return jnp.where(word % 2 == 0, 1.0, -1.0) if self.classes == 2 else word % self.classes

    def assemble(
        self, stock: Any, order: Any, world: jax.Array, draws: jax.Array, index: jax.Array
    ) -> Sample:
        """The numbered examples, shifted and permuted according to the settings."""
        x, y = self.compose(stock, order, world, draws, index)
        if self.shift:
            x = jnp.pad(x, ((0, 0), (0, 0), (self.shift, 0), (0, 0)))[:, :, : x.shape[2]]
        if self.permuted:
            flat = x.reshape(x.shape[0], -1, x.shape[3])
            x = flat[:, pixel_order(tuple(x.shape[1:]))].reshape(x.shape)
        if self.shuffled_labels:
            y = self.noise_labels(draws, index).astype(y.dtype)
        return Sample(self.inputs(self.scaled(stock, x)), y)

    def tests(self) -> Mapping[str, Task]:
        """The test images as they are, and shifted."""
        plain = self.model_copy(update={"shuffled_labels": False, "shifted_tests": (), "shift": 0})
        shifted = {f"shift_{by}": plain.model_copy(update={"shift": by}) for by in self.shifted_tests}
        return {"": plain, **shifted}

    def lineage(self) -> dict[str, Any]:
        """The examples are the same, whether permuted, shifted or with other labels."""
        return {name: value for name, value in self.canonical().items() if name not in CONTROLS}

    def data_digest(self) -> str:
        return images.digest(self.images, self.batches)

    def fetch(self) -> None:
        """Find the set and check its files, or download it."""
        images.load(self.images, self.batches)

    def absent(self) -> str:
        """Why the set is not used as it is, in a clause."""
        if images.here(self.images, self.batches):
            return ""
        wrong = images.unused([self.images])
        return f"{known(self.images).title} is not here{f' ({wrong})' if wrong else ''}; set WHYCONV_DATA"

    def image_shape(self) -> tuple[int, int, int]:
        """(rows, columns, colours) of the set's images."""
        return known(self.images).shape

    def image_count(self, part: Part) -> int:
        """How many images the set has for training or testing."""
        about = known(self.images)
        return about.images(about.training(self.batches) if part == "train" else about.test)


def standardised(stock: Any, x: jax.Array) -> jax.Array:
    """Bytes standardised by the ``mean`` and ``spread`` of the training images."""
    return (x.astype(float) - stock.mean) / stock.spread


def moments(pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and spread of bytes (..., colour) per colour, from counts: no copy in floating point."""
    level = np.arange(256.0)
    found = []
    for colour in range(pixels.shape[-1]):
        share = np.bincount(pixels[..., colour].ravel(), minlength=256) / (pixels.size / pixels.shape[-1])
        mean = share @ level
        found.append((mean, (share @ (level - mean) ** 2) ** 0.5))
    mean, spread = np.array(found, np.float32).T
    return mean, spread


@lru_cache(maxsize=8)
def on_device(make: Any, *arguments: Any) -> Any:
    """The result of ``make(*arguments)`` as JAX arrays; computed once."""
    return jax.tree.map(jnp.asarray, make(*arguments))


def words(key: jax.Array, index: jax.Array, count: int) -> jax.Array:
    """``count`` random words for every number."""
    return jax.vmap(lambda i: jax.random.bits(jax.random.fold_in(key, i), (count,), jnp.uint32))(index)


def generator(key: jax.Array, *numbers: int) -> np.random.Generator:
    """NumPy's generator, for what is drawn once per epoch: it permutes ten times faster than JAX."""
    return np.random.default_rng([*(int(word) for word in np.ravel(jax.random.key_data(key))), *numbers])
