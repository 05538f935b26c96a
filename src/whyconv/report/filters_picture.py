"""A picture of the filters that first layers have learned."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from whyconv.lazy import np
from whyconv.measure.intervals import mean_interval
from whyconv.report.drawing import WIDTH, svg, text
from whyconv.report.raster import bitmap

if TYPE_CHECKING:
    from whyconv.runs import Run

GAP = 6
LARGEST = 6
"""Number of arms shown."""


def filters(run: Run) -> dict[str, str]:
    """One picture of the arms' first layers after training, at the last value of the study's axis."""
    arms: dict[str, np.ndarray] = {}
    places: dict[str, frozenset[str]] = {}
    scores: dict[tuple[str, frozenset[str]], list[float]] = {}
    for point in run.points:
        row = run.rows.get(point.trial.key)
        if row is None or "arm" not in point.labels or "locality" not in row.result:
            continue
        arm = str(point.labels["arm"])
        place = frozenset(
            f"{name} = {value:,}" for name, value in point.labels.items() if isinstance(value, int)
        )
        scores.setdefault((arm, place), []).append(float(row.result["locality"]))
        if "filters" in row.trace:
            shape = [int(size) for size in row.trace["filters_shape"]]
            arms[arm], places[arm] = np.asarray(row.trace["filters"]).reshape(shape), place
    if not arms:
        return {}
    chosen = sorted(arms, key=lambda arm: "permuted" in arm or "shuffled" in arm)[:LARGEST]
    grey = any(found.shape[3] != 3 for found in arms.values())
    colours = "red positive, blue negative" if grey else "grey for zero, in their own colours"
    rest = f"; {LARGEST} of {len(arms)} networks" if len(arms) > LARGEST else ""
    common = sorted(frozenset.intersection(*(places[arm] for arm in chosen)))
    where = f" at {', '.join(common)}" if common else ""
    title = (
        f"Filters of the first layer after training: the strongest of seed 0{where}, {colours}{rest}. "
        "Locality, over all seeds: 1 for one pixel, 0 for the whole image"
    )
    return {title: picture({arm: (arms[arm], _score(scores[arm, places[arm]])) for arm in chosen})}


def _score(scores: list[float]) -> str:
    """The mean locality with its interval."""
    known = [score for score in scores if not isnan(score)]
    if not known:
        return ""
    found = mean_interval(known)
    mean, low, high = (f"{0.0 if abs(v) < 0.005 else v:.2f}" for v in (found.mean, found.low, found.high))
    return f"locality {mean} [{low}, {high}]" if len(known) > 1 else f"locality {mean}"


def picture(arms: dict[str, tuple[Any, str]]) -> str:
    """A row of filters for every arm, with its name and a score."""
    parts, top = [], 0.0
    for arm, (found, score) in arms.items():
        rows, columns = found.shape[1:3]
        shown = 1 if columns > 4 * rows else min(len(found), 8)
        width = (WIDTH - GAP * (shown - 1)) / shown
        width = min(width, 64.0 if shown > 1 else WIDTH)
        height = width * rows / columns
        parts.append(text(0, top + 16, arm, "strong"))
        parts.append(text(WIDTH, top + 16, score, "quiet", "end"))
        top += 26
        count = 3 if shown == 1 else shown
        for number in range(min(count, len(found))):
            left = 0.0 if shown == 1 else number * (width + GAP)
            parts.append(bitmap(tinted(found[number]), left, top, width, height))
            top += height + GAP if shown == 1 else 0
        top += 0 if shown == 1 else height + GAP
        top += 10
    return svg(top, parts, "Learned filters of the first layer, arm by arm")


def tinted(weights: np.ndarray) -> np.ndarray:
    """A filter (row, column, channel) as bytes: three channels are RGB, else blue over white to red."""
    scale = max(float(np.abs(weights).max()), 1e-12)
    share = weights / scale
    if share.shape[2] == 3:
        return np.round(127.5 + 127.5 * share).astype(np.uint8)
    one = share.mean(axis=2)[..., None]
    warm, cold = np.array([178, 24, 43]), np.array([33, 102, 172])
    end = np.where(one > 0, warm, cold)
    return np.round(255 + (end - 255) * np.abs(one)).astype(np.uint8)
