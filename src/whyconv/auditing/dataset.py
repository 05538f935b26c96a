"""A user's examples in one shape, whatever they came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whyconv.auditing.bad_data import BadData, nearest
from whyconv.auditing.features import Channels, Grid, Lengths, features_of, frame_of
from whyconv.auditing.labels import groups_of, labels_of
from whyconv.auditing.noticing import noticed
from whyconv.lazy import Floats, Ints, NDArray

__all__ = ["BadData", "Dataset", "Grid", "from_arrays"]

METRICS = ("auto", "error", "balanced", "logloss", "mse")
FEWEST = 40
"""Examples without which there is no learning curve."""


@dataclass(frozen=True)
class Dataset:
    """Labelled examples on a grid.

    ``x``: float32 (examples, rows, columns, channels); series and tables have one row, and as many columns as
    there are steps or features. ``y``: class numbers from 0, or real targets if ``classes`` is empty.
    ``groups``: numbers from 0 of rows that belong together (one person, one machine), or None.
    """

    name: str
    x: NDArray
    y: Ints | Floats
    classes: tuple[str, ...]
    grid: Grid
    groups: Ints | None = None
    warnings: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int, int]:
        """(rows, columns, channels) of one example."""
        _, rows, columns, channels = self.x.shape
        return rows, columns, channels


def from_arrays(
    X: Any,
    y: Any,
    groups: Any = None,
    grid: str | tuple[int, ...] = "auto",
    channels: Channels | None = None,
    metric: str = "auto",
    name: str = "data",
    *,
    lengths: Lengths | None = None,
    memory: float | None = None,
) -> Dataset:
    """The examples ``X`` with their labels ``y``, checked; what looks odd is in ``warnings``.

    ``X``: numbers, as an array or anything with ``__array__``: (examples, features), (examples, length,
    channels) or (examples, rows, columns, channels); a frame of numbers, booleans and categories, of
    which ``y`` and ``groups`` may name columns; or a list of series of unequal ``lengths``, to be padded with
    zeros or cut. ``y``: classes of any type, or real targets with the metric mse. ``memory``: a cap in GB.

    ``grid``: series, table, ``28x28x1`` (also as a tuple), or auto: an array of two axes is a series, a frame
    is a table unless its columns are numbered, an array of four axes holds images. ``channels`` of three or
    four axes are last where that axis is shorter by a factor of two or more; else it must be said.
    """
    if metric not in METRICS:
        raise BadData(f"the metric {metric!r} was given; choose one of {', '.join(METRICS)}.")
    if isinstance(y, str) or isinstance(groups, str):
        X, y, groups = _columns_taken(X, y, groups)
    features = features_of(X, grid, channels, lengths, memory)
    count = len(features.x)
    labels = labels_of(y, count, metric)
    kin = None if groups is None else groups_of(groups, labels)
    if count < FEWEST:
        raise BadData(f"there are {count} examples; an audit needs at least {FEWEST}, better some hundreds.")
    return Dataset(
        name=name,
        x=features.x,
        y=labels.numbers,
        classes=labels.classes,
        grid=features.grid,
        groups=kin,
        warnings=(*features.notes, *noticed(features, labels, kin, metric)),
    )


def _columns_taken(X: Any, y: Any, groups: Any) -> tuple[Any, Any, Any]:
    """A frame without the columns that ``y`` and ``groups`` name, and these columns."""
    X = frame_of(X)
    if X is None:
        named = y if isinstance(y, str) else groups
        raise BadData(
            f"{named!r} was given for labels or groups; a name needs a pandas frame: give an array."
        )
    names, taken = [str(each) for each in X.columns], []
    values = []
    for given in (y, groups):
        if isinstance(given, str):
            if given not in names:
                raise BadData(f"there is no column {given!r}; columns like it: {nearest(given, names)}.")
            taken.append(given)
            values.append(X.iloc[:, names.index(given)])
        else:
            values.append(given)
    kept = [place for place, each in enumerate(names) if each not in taken]
    return X.iloc[:, kept], *values
