"""From what a user calls labels and groups to numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whyconv.auditing.bad_data import BadData, listed
from whyconv.auditing.features import array_of
from whyconv.lazy import Floats, Ints, NDArray, np, pd

SMALLEST = 5
"""Examples of a class: fewer cannot be in a training set, a test and the samples that tune."""
FEWEST_GROUPS = 6
FEWEST_PER_CLASS = 2
"""Groups with examples of a class: with one, a test without that group has none of it to train on."""


@dataclass(frozen=True)
class Labels:
    """``numbers``: classes from 0, named in ``classes``, or real targets if there are no classes."""

    numbers: Ints | Floats
    classes: tuple[str, ...]


def labels_of(y: Any, examples: int, metric: str) -> Labels:
    """The labels of so many examples; real targets if the metric is mse."""
    values = _one_each(y, examples)
    missing = np.asarray(pd.isna(values))
    if missing.any():
        raise BadData(
            f"{int(missing.sum())} of {examples} labels are missing, first row {int(missing.argmax())} "
            "(rows count "
            "from 0); leave these examples out."
        )
    return Labels(_targets(values), ()) if metric == "mse" else _classes(values)


def _one_each(y: Any, examples: int) -> NDArray:
    """One label for every example, as an array of one axis."""
    if y is None:
        raise BadData("there are no labels; give y, one label for every example.")
    values = array_of(y, "y")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        form = " x ".join(map(str, values.shape)) or "a single value"
        if _one_hot(values):
            raise BadData(f"y is one-hot ({form}); give one class for every example, as in y.argmax(1).")
        raise BadData(f"y is {form}; give one label for every example.")
    if len(values) != examples:
        raise BadData(f"there are {examples} examples but {len(values)} labels; give one for every example.")
    return pd.Series(values).infer_objects().to_numpy() if values.dtype == object else values


def _one_hot(values: NDArray) -> bool:
    if values.ndim != 2 or values.dtype.kind not in "biuf" or not values.size:
        return False
    return bool(np.isin(values, (0, 1)).all() and (values.sum(axis=1) == 1).all())


def _targets(values: NDArray) -> Floats:
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise BadData(
                f"the target {str(values[0])!r:.40} is not a number, as the metric mse needs; leave "
                "--metric out "
                "for classes."
            ) from error
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise BadData(f"the target in row {int((~np.isfinite(values)).argmax())} is infinite; leave it out.")
    if values.min() == values.max():
        raise BadData(f"all targets are {values[0]:g}; there is nothing to predict: give targets that vary.")
    with np.errstate(over="ignore"):
        variance = values.var()
    if not 0 < variance < np.inf:
        raise BadData(
            f"the variance of the targets, from {values.min():g} to {values.max():g}, is {variance:g} in "
            "double precision; give them in another unit."
        )
    return values


def _classes(values: NDArray) -> Labels:
    numeric = values.dtype.kind in "biuf"
    if values.dtype.kind == "f" and (real := values != np.floor(values)).any():
        raise BadData(
            f"y has real numbers such as {values[real][0]:g}; for regression give --metric mse, for classes "
            "give "
            "whole numbers or names."
        )
    if not numeric:
        values = np.array(
            [each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each) for each in values]
        )
    found, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    names = [f"{each:g}" if values.dtype.kind == "f" else str(each) for each in found]
    if len(names) < 2:
        raise BadData(f"all labels are {names[0]!r}; give at least two classes.")
    if numeric and len(names) > len(values) / SMALLEST:
        raise BadData(
            f"y has {len(names)} different numbers in {len(values)} examples, too many for classes; for "
            "regression "
            "give --metric mse."
        )
    small = [
        f"{name!r:.40} ({number})" for name, number in zip(names, counts, strict=True) if number < SMALLEST
    ]
    if small:
        raise BadData(
            f"{len(small)} of {len(names)} classes have fewer than {SMALLEST} examples: {listed(small)}; "
            "leave them "
            "out or join them with others."
        )
    return Labels(numbers.astype(np.int64), tuple(names))


def groups_of(groups: Any, labels: Labels) -> Ints | None:
    """The number of every example's group, from 0; None if every example is its own."""
    values = array_of(groups, "groups")
    count = len(labels.numbers)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (count,):
        form = " x ".join(map(str, values.shape))
        raise BadData(f"there are {count} examples but groups of {form}; give one group for every example.")
    missing = np.asarray(pd.isna(values))
    if missing.any():
        raise BadData(f"the group of row {int(missing.argmax())} is missing; give one for every example.")
    kin, names = pd.factorize(values if values.dtype.kind != "O" else values.astype(str))
    if len(names) == count:
        return None
    if len(names) < FEWEST_GROUPS:
        raise BadData(f"there are {len(names)} groups; give at least {FEWEST_GROUPS}, or leave --groups out.")
    if labels.classes:
        _require_mixed(kin, labels)
    return kin.astype(np.int64)


def _require_mixed(kin: Ints, labels: Labels) -> None:
    """Every class must be in several groups, or no split can have it on both sides."""
    pairs = np.unique(np.stack([labels.numbers, kin], axis=1), axis=0)
    per_class = np.bincount(pairs[:, 0], minlength=len(labels.classes))
    if (per_class == 1).all() and len(pairs) == kin.max() + 1:
        raise BadData(
            "every group is one class, so groups are labels; leave --groups out or give other groups."
        )
    few = [labels.classes[place] for place in np.flatnonzero(per_class < FEWEST_PER_CLASS)]
    if few:
        raise BadData(
            f"the class {few[0]!r:.40} is in one group only, and a test on other groups cannot be passed; "
            "give groups "
            f"such that every class is in at least {FEWEST_PER_CLASS}."
        )
