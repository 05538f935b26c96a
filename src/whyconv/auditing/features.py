"""From what a user calls features to float32 (examples, rows, columns, channels)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from whyconv.auditing.bad_data import BadData, require_room
from whyconv.errors import said
from whyconv.lazy import NDArray, np, pd

Grid = Literal["series", "image", "table"]
"""What the order of features means: neighbours in time, in two directions, or nothing that is known."""
Channels = Literal["first", "last"]
Lengths = Literal["pad", "cut"]

GRIDS = "series, table, or rows x columns x channels as in 28x28x1"
LEVELS = 64
"""The most categories of one column."""
NUMBERED = re.compile(r"(\D*)(\d{1,6})")


@dataclass(frozen=True)
class Features:
    """``x`` is (examples, rows, columns, channels); ``names`` are those of columns, empty if they have none.

    ``notes`` say what was done to the user's features that changes an answer.
    """

    x: NDArray
    grid: Grid
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def features_of(
    X: Any,
    grid: str | Sequence[int] = "auto",
    channels: Channels | None = None,
    lengths: Lengths | None = None,
    memory: float | None = None,
) -> Features:
    """The features in one shape; for the arguments see :func:`whyconv.auditing.dataset.from_arrays`."""
    if channels not in (None, "first", "last"):
        raise BadData(f"channels {channels!r} was given; choose first or last.")
    if lengths not in (None, "pad", "cut"):
        raise BadData(f"lengths {lengths!r} was given; choose pad or cut.")
    wanted, sizes = _grid(grid)
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    if (frame := frame_of(X)) is not None:
        values, names = frame_values(frame)
        if wanted == "auto":
            wanted = "series" if values.ndim == 2 and _numbered(names) else "table"
        channels = "last" if values.ndim == 3 else channels
    else:
        values, notes = _of_array(X, lengths)
    require_room(4 * values.size, f"an array of {' x '.join(map(str, values.shape))} numbers", memory)
    placed, kind = _placed(values, wanted, sizes, channels)
    if prod(placed.shape[1:3]) < 2:
        raise BadData("every example has one feature; an order of features needs at least two, so give more.")
    return Features(_finite(placed, values), kind, () if sizes else names, notes)


# -- what was given -----------------------------------------------------------------------------------


def frame_of(X: Any) -> Any:
    """A frame of pandas, from one of Polars or Arrow too, without equal names; None for all else."""
    if not hasattr(X, "columns"):
        return None
    frame = X if hasattr(X, "iloc") else X.to_pandas() if hasattr(X, "to_pandas") else None
    if frame is not None:
        names = pd.Series([str(name) for name in frame.columns], dtype=object)
        if (again := names[names.duplicated()]).size:
            count, name = int((names == again.iloc[0]).sum()), again.iloc[0]
            raise BadData(f"{count} columns are named {name!r}; give each its own name.")
    return frame


def array_of(given: Any, name: str) -> NDArray:
    """An array of anything that says it is one, unless it hides values under a mask."""
    if isinstance(given, np.ma.MaskedArray) and (hidden := np.ma.count_masked(given)):
        raise BadData(f"{name} hides {hidden} values under a mask; fill them in or leave these examples out.")
    try:
        return np.asarray(given)
    except Exception as error:  # whatever the object's own __array__ raises
        raise BadData(
            f"{name} cannot be read as an array ({said(error):.120}); give examples of one shape."
        ) from error


def _of_array(X: Any, lengths: Lengths | None) -> tuple[NDArray, tuple[str, ...]]:
    """An array of numbers or booleans with two to four axes; series of unequal lengths become one."""
    notes: tuple[str, ...] = ()
    if unequal(X):
        X, notes = _evened(X, lengths)
    values = array_of(X, "X")
    if values.dtype.kind not in "biuf":
        raise BadData(
            f"X holds {_kind(values)}; give numbers, or a pandas frame in which words are categories."
        )
    if values.ndim not in (2, 3, 4):
        raise BadData(
            f"X has {values.ndim} axes {values.shape}; give (examples, features), (examples, length, "
            "channels) "
            "or (examples, rows, columns, channels)."
        )
    if not values.size:
        raise BadData(f"X of {' x '.join(map(str, values.shape))} is empty; give examples with features.")
    return values, notes


def _kind(values: NDArray) -> str:
    kinds = {"U": "words", "S": "words", "M": "dates", "m": "durations", "c": "complex numbers"}
    return kinds.get(values.dtype.kind, "Python objects")


def unequal(X: Any) -> bool:
    """Whether these are series of different lengths: a list, or an array of objects, of arrays."""
    if not (isinstance(X, list | tuple) or (hasattr(X, "dtype") and X.dtype == object and X.ndim == 1)):
        return False
    return len({(len(each),) if isinstance(each, list | tuple) else np.shape(each)[:1] for each in X}) > 1


def _evened(X: Any, lengths: Lengths | None) -> tuple[NDArray, tuple[str, ...]]:
    """Series of one length: padded with zeros at the end, or cut to the shortest."""
    series = [array_of(each, "an example of X") for each in X]
    if any(each.ndim not in (1, 2) or each.dtype.kind not in "biuf" for each in series):
        raise BadData("X is a list whose items are not all series of numbers; give one array per example.")
    if len({each.shape[1:] for each in series}) > 1:
        raise BadData("the series of X have different numbers of channels; give each the same.")
    spans = [len(each) for each in series]
    short, long = min(spans), max(spans)
    if lengths is None:
        raise BadData(f"the series have {short} to {long} steps; give --pad (zeros at the end) or --cut.")
    length = long if lengths == "pad" else short
    even = np.zeros((len(series), length, *series[0].shape[1:]), np.float32)
    for place, each in enumerate(series):
        even[place, : len(each)] = each[:length]
    done = "padded with zeros at the end" if lengths == "pad" else "cut"
    so = "; the length itself may tell labels apart" if lengths == "pad" else "; what came later is not seen"
    return even, (f"series of {short} to {long} steps were {done} to {length}{so}",)


def frame_values(frame: Any) -> tuple[NDArray, tuple[str, ...]]:
    """(examples, features), or with categories (examples, features, channels), one channel per category."""
    names = tuple(str(name) for name in frame.columns)
    if not names or not len(frame):
        raise BadData(
            f"the table has {len(frame)} rows and {len(names)} columns; give examples with features."
        )
    if np.dtype(object) in list(frame.dtypes):
        frame = frame.infer_objects()  # numbers among objects are numbers
    columns = [frame.iloc[:, place] for place in range(len(names))]
    words = [name for name, column in zip(names, columns, strict=True) if not _allowed(column.dtype)]
    if words:
        column = columns[names.index(words[0])]
        bad = next((value for value in column if isinstance(value, str)), column.iloc[0])
        more = f" (and {len(words) - 1} other columns)" if len(words) > 1 else ""
        raise BadData(
            f"the column {words[0]!r} holds {str(bad)!r:.40}{more}, not numbers; leave it out, replace its "
            "words by "
            "numbers, or give a pandas frame where it is a category."
        )
    kinds = [_categories(column) for column in columns]
    widest = max(kinds)
    if widest > LEVELS:
        raise BadData(
            f"the column {names[kinds.index(widest)]!r} has {widest} categories; give at most {LEVELS}, or "
            "leave it out."
        )
    if not widest:
        return np.stack([_numbers(column) for column in columns], axis=1), names
    values = np.zeros((len(frame), len(names), max(1, widest)), np.float32)
    for place, column in enumerate(columns):
        if kinds[place]:
            codes = column.cat.codes.to_numpy()
            values[codes >= 0, place, codes[codes >= 0]] = 1
            values[codes < 0, place, 0] = np.nan
        else:
            values[:, place, 0] = _numbers(column)
    return values, names


def _allowed(kind: Any) -> bool:
    types = pd.api.types
    number = types.is_numeric_dtype(kind) and not types.is_complex_dtype(kind)
    return number or types.is_bool_dtype(kind) or isinstance(kind, pd.CategoricalDtype)


def _categories(column: Any) -> int:
    """How many categories occur in a column; 0 for one of numbers. Booleans as categories are categories."""
    return len(column.cat.categories) if isinstance(column.dtype, pd.CategoricalDtype) else 0


def _numbers(column: Any) -> NDArray:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _numbered(names: Sequence[str]) -> bool:
    """Whether columns are numbered one after another, as t0, t1, t2 are: then their order means something."""
    found = [NUMBERED.fullmatch(name) for name in names]
    if len(names) < 3 or not all(found):
        return False
    stems, numbers = zip(*((each[1], int(each[2])) for each in found if each), strict=True)
    return len(set(stems)) == 1 and list(numbers) == list(range(numbers[0], numbers[0] + len(numbers)))


# -- where it goes ------------------------------------------------------------------------------------


def _grid(grid: str | Sequence[int]) -> tuple[str, tuple[int, int, int] | None]:
    """The kind of grid, and its rows, columns and channels if they were given."""
    if isinstance(grid, str) and grid in ("auto", "series", "table"):
        return grid, None
    try:
        sizes = [int(part) for part in (grid.lower().split("x") if isinstance(grid, str) else grid)]
    except (TypeError, ValueError):
        sizes = []
    if len(sizes) == 2:
        sizes.append(1)
    if len(sizes) != 3 or min(sizes) < 1:
        raise BadData(f"the grid {grid!r} was given; choose {GRIDS}.")
    return "image", (sizes[0], sizes[1], sizes[2])


def _placed(
    values: NDArray, wanted: str, sizes: tuple[int, int, int] | None, channels: Channels | None
) -> tuple[NDArray, Grid]:
    """(examples, rows, columns, channels) without a copy, and the grid."""
    if sizes is not None:
        return _on_grid(values, sizes, channels)
    if values.ndim == 2:
        return values[:, None, :, None], "table" if wanted == "table" else "series"
    if values.ndim == 4 and wanted != "auto":
        raise BadData(
            f"X has four axes {values.shape}, those of images, but the grid {wanted}; leave --grid out."
        )
    last = _channels_last(values.shape[1:], channels)
    values = values if last else np.moveaxis(values, 1, -1)
    if values.ndim == 4:
        return _images(values)
    return values[:, None], "table" if wanted == "table" else "series"


def _channels_last(shape: tuple[int, ...], channels: Channels | None) -> bool:
    """Whether the last axis holds channels: as said, or where it is shorter by a factor of two or more."""
    if channels is not None:
        return channels == "last"
    if 2 * shape[-1] <= min(shape[:-1]):
        return True
    form = " x ".join(map(str, shape))
    image = f", or --grid {form.replace(' ', '')}x1 if these are grey images" if len(shape) == 2 else ""
    raise BadData(
        f"every example is {form}, and which axis holds channels cannot be told; give --channels first or "
        f"--channels last{image}."
    )


def _on_grid(values: NDArray, sizes: tuple[int, int, int], channels: Channels | None) -> tuple[NDArray, Grid]:
    rows, columns, depth = sizes
    first = channels == "first"
    whole = (depth, rows, columns) if first else sizes
    given = values.shape[1:]
    fits = [(prod(sizes),), whole] + ([(rows, columns)] if depth == 1 else [])
    if given not in fits:
        form = "x".join(map(str, sizes))
        raise BadData(
            f"the grid {form} has {prod(sizes)} features, and every example is {' x '.join(map(str, given))}"
            + (f" = {prod(given)}" if len(given) > 1 else "")
            + "; give rows x columns x channels (and --channels first if channels come first)."
        )
    values = values.reshape(len(values), *whole)
    return _images(np.moveaxis(values, 1, -1) if first else values)


def _images(values: NDArray) -> tuple[NDArray, Grid]:
    """Images; those with one row or column are series."""
    _, rows, columns, _ = values.shape
    if columns == 1:
        values = values.swapaxes(1, 2)
    return values, "series" if 1 in (rows, columns) else "image"


def _finite(placed: NDArray, given: NDArray) -> NDArray:
    """The features as float32, if all are finite there."""
    with np.errstate(over="ignore"):
        x = np.ascontiguousarray(placed, np.float32)
    bad = ~np.isfinite(x).all(axis=(1, 2, 3))
    if not bad.any():
        return x
    row = int(bad.argmax())
    here = given[row]
    what, do = "missing values", "fill them in or leave these examples out"
    if not np.isnan(here).any():
        what = "infinite values" if np.isinf(here).any() else "numbers beyond 3.4e38"
        do = "replace them or leave these examples out"
    raise BadData(
        f"{int(bad.sum())} of {len(x)} examples have {what}, first row {row} (rows count from 0); {do}."
    )
