"""A user's own examples, on a line or a plane: split, scaled and ordered anew for every seed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from whyconv.errors import UserError
from whyconv.lazy import jax, jnp, np
from whyconv.paths import run_folder
from whyconv.tasks import Part, Sample, StreamedTask, Task, predicted
from whyconv.tasks._image_task import generator
from whyconv.tasks._splits import Split, split

FOLDER = "data"
"""Where a run keeps arrays, as ``<digest>.npz``."""
CONTROLS = ("inner", "permuted", "shuffled_labels")
"""Fields that do not change how a seed splits the examples."""
SMALL = 4096
"""Sets up to this size have one padding for all samples, larger ones a second for samples up to this size.
Compiling takes seconds, an epoch's order of so many rows a fraction of a millisecond."""


class Stock(NamedTuple):
    """All examples (count, row, column, channel), and which part is wanted: 0 training, 1 test."""

    x: Any
    part: Any


class Order(NamedTuple):
    """What a seed decides: which examples, their labels, how to scale them, and where each place goes."""

    rows: Any
    y: Any
    mean: Any
    spread: Any
    places: Any


class OwnData(StreamedTask, name="own-data"):
    """Examples that a run keeps as arrays: a file named by their digest, in the folder ``data`` of the run.

    An input is ``grid`` = (rows, columns, channels). ``labels`` classes have the labels 0, 1, ..., two have
    -1 and +1; with 0 labels the target is real, y' = (y - centre) / unit. The world of a seed decides which
    ``test`` examples are for testing, and the order of the others; classes keep their shares in every part
    of it, and groups stay together (:mod:`whyconv.tasks._splits`). A sample of size m is the first m of that
    order. Inputs are scaled by mean and spread of the seed's training part, per channel, or per feature if
    ``scaling`` says so.

    ``inner``: the training part is split again, and the outer test part is never looked at; for tuning.
    Controls: ``permuted`` = k > 0 puts the places of every input in the k-th random order, all channels
    together; ``shuffled_labels`` deals the labels of the training part out anew, test labels stay.
    """

    reference: ClassVar[str] = "whyconv audit (ours)"
    listed: ClassVar[bool] = False
    version: ClassVar[int] = 2
    brief: ClassVar[bool] = True

    data: str = Field(min_length=8, max_length=64, pattern="^[0-9a-f]+$")
    grid: tuple[int, int, int]
    count: int = Field(ge=4, le=10_000_000)
    labels: int = Field(ge=0, le=100_000)
    test: int = Field(ge=1, le=10_000_000)
    largest_group: int = Field(1, ge=1, le=10_000_000)
    scaling: Literal["channel", "feature"] = "channel"
    centre: float = 0.0
    unit: float = Field(1.0, gt=0)
    inner: bool = False
    permuted: int = Field(0, ge=0, le=2**31 - 1)
    shuffled_labels: bool = False

    @model_validator(mode="after")
    def _enough(self) -> OwnData:
        if self.most(False) < 2:
            raise ValueError(
                f"{self.count} examples, {self.test} of them for tests, leave too few for training; "
                "take more examples or smaller groups"
            )
        return self

    @property
    def classes(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of labels; 0 if the target is real."""
        return self.labels

    @property
    def shape(self) -> tuple[int, ...]:
        return self.grid

    def most(self, inner: bool) -> int:
        """How many training examples every seed has: of a grouped set, the last group may be cut."""
        outer = self.count - self.test - (self.largest_group - 1)
        return outer - outer // 4 - (self.largest_group - 1) if inner else outer

    def tested(self, inner: bool) -> int:
        """How many test examples every seed has."""
        return self.most(False) // 4 if inner else self.test

    def refusal(self, m: int, held_out: int, test_size: int) -> str:
        del held_out
        if m > self.most(self.inner) or test_size > self.tested(self.inner):
            return (
                f"m = {m} and test_size = {test_size} were given, but there are {self.most(self.inner)} "
                f"examples for training and {self.tested(self.inner)} for tests; take at most as many"
            )
        return ""

    def compiled(self) -> OwnData:
        """What is drawn for a seed, and the data themselves, are arguments of compiled programs."""
        plain = {"data": "0" * 8, "centre": 0.0, "unit": 1.0, "test": 1, "largest_group": 1}
        return self.model_copy(update={**plain, **dict.fromkeys(CONTROLS, 0), "scaling": "channel"})

    def lineage(self) -> dict[str, Any]:
        """The same split, whether permuted, shuffled or split again."""
        return {name: value for name, value in self.canonical().items() if name not in CONTROLS}

    def tests(self) -> dict[str, Task]:
        """The test part, with its own labels."""
        return {"": self.model_copy(update={"shuffled_labels": False})}

    def room(self, m: int) -> int:
        """One or two sizes of padding, since each is compiled."""
        whole = 1 << (self.count - 1).bit_length()
        return min(SMALL, whole) if m <= SMALL else whole

    def data_digest(self) -> str:
        return self.data

    def fetch(self) -> None:
        """Refuse to start without the arrays."""
        arrays(file_of(self.data))

    def kept_files(self) -> tuple[Path, ...]:
        return (file_of(self.data),)

    def stock(self, part: Part) -> Stock:
        return Stock(_on_device(file_of(self.data)), np.int32(part == "test"))

    def shuffle(self, stock: Stock, world: jax.Array, draws: jax.Array, epoch: int) -> Order:
        del draws, epoch
        held = arrays(file_of(self.data))
        words = tuple(int(word) for word in np.ravel(jax.random.key_data(world)))
        parts = _parts(file_of(self.data), words, self.labels, self.test, self.tested(True), self.inner)
        chosen = parts.test if int(stock.part) else parts.train
        y = held.y
        if self.shuffled_labels:
            y = y.copy()
            y[parts.train] = generator(world, 2).permutation(y[parts.train])
        mean, spread = _moments(held.x[parts.train], self.scaling)
        return Order(
            np.resize(chosen, self.count).astype(np.int32), self._coded(y), mean, spread, self._places()
        )

    def _coded(self, y: np.ndarray) -> np.ndarray:
        """Labels as learners take them."""
        if self.labels == 0:
            return ((y - self.centre) / self.unit).astype(np.float32)
        return (2.0 * y - 1).astype(np.float32) if self.labels == 2 else y.astype(np.int32)

    def _places(self) -> np.ndarray:
        """Where each place of an input is taken from."""
        count = self.grid[0] * self.grid[1]
        if not self.permuted:
            return np.arange(count, dtype=np.int32)
        return np.random.default_rng([2026, self.permuted]).permutation(count).astype(np.int32)

    def assemble(
        self, stock: Stock, order: Order, world: jax.Array, draws: jax.Array, index: jax.Array
    ) -> Sample:
        """The numbered examples; numbers beyond the part (padding) start over."""
        del world, draws
        chosen = jnp.asarray(order.rows)[index % self.count]
        x = (stock.x[chosen] - order.mean) / order.spread
        flat = x.reshape(len(index), -1, self.grid[2])
        return Sample(flat[:, jnp.asarray(order.places)].reshape(x.shape), jnp.asarray(order.y)[chosen])

    def measures(self, scores: np.ndarray, y: np.ndarray) -> dict[str, float]:
        """error, balanced (error) and logloss of classes; mse of a real target, in its own unit squared.

        The balanced error is the mean over classes of the share of wrong predictions. It is that of the
        scores minus the log shares of classes in the data, since that is what it is least for.
        """
        scores, y = scores.astype(np.float64), y.astype(np.float64)
        if self.labels == 0:
            return {"mse": float(np.mean((y - scores) ** 2)) * self.unit**2}
        shares = np.bincount(arrays(file_of(self.data)).y, minlength=self.labels) / self.count
        logs = np.log(np.maximum(shares, 1e-12))
        if self.labels == 2:
            fair = scores - (logs[1] - logs[0])
            loss = np.logaddexp(0, -y * scores)
        else:
            fair = scores - logs
            top = scores.max(axis=1, keepdims=True)
            sums = top[:, 0] + np.log(np.exp(scores - top).sum(axis=1))
            loss = sums - scores[np.arange(len(y)), y.astype(int)]
        wrong = predicted(fair) != y
        return {
            "error": int(np.sum(predicted(scores) != y)) / len(y),
            "balanced": float(np.mean([wrong[y == label].mean() for label in np.unique(y)])),
            "logloss": float(np.mean(loss)),
        }


class Arrays(NamedTuple):
    """What a file holds: inputs, labels, and groups or None."""

    x: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None


def file_of(digest: str) -> Path:
    """The file of these data in the folder of the current run."""
    return run_folder() / FOLDER / f"{digest}.npz"


@lru_cache(maxsize=4)
def arrays(file: Path) -> Arrays:
    """The arrays of a file; pickles are not loaded."""
    try:
        with np.load(file, allow_pickle=False) as held:
            groups = held["groups"] if "groups" in held.files else None
            return Arrays(held["x"], held["y"], groups)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"the data {file.stem} are not in {file.parent}, where its copy was kept; give the data again."
        ) from error


@lru_cache(maxsize=4)
def _on_device(file: Path) -> Any:
    return jnp.asarray(arrays(file).x)


@lru_cache(maxsize=64)
def _parts(file: Path, words: tuple[int, ...], labels: int, test: int, tested: int, inner: bool) -> Split:
    """The split of a seed; with ``inner`` that of its training part."""
    held = arrays(file)
    found = split(held.y if labels else None, held.groups, len(held.y), test, np.random.default_rng(words))
    if not inner:
        return found
    y = held.y[found.train] if labels else None
    groups = None if held.groups is None else held.groups[found.train]
    again = split(y, groups, len(found.train), tested, np.random.default_rng([*words, 1]))
    return Split(found.train[again.train], found.train[again.test])


def _moments(x: np.ndarray, scaling: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and spread, (rows, columns, channels), per channel or per feature; constants keep their unit."""
    axes = (0,) if scaling == "feature" else (0, 1, 2)
    mean = x.mean(axis=axes, dtype=np.float64)
    spread = x.std(axis=axes, dtype=np.float64)
    spread = np.where(spread > 1e-12 * (1 + np.abs(mean)), spread, 1.0)
    shape = x.shape[1:]
    return (
        np.broadcast_to(mean, shape).astype(np.float32),
        np.broadcast_to(spread, shape).astype(np.float32),
    )
