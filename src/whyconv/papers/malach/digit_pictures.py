"""Pictures of digits side by side, made of the images that were used; and why a shift is felt."""

from __future__ import annotations

from collections.abc import Iterator

from whyconv.errors import UserError
from whyconv.lazy import np
from whyconv.report.drawing import WIDTH, svg, text
from whyconv.report.raster import bitmap
from whyconv.tasks import images
from whyconv.tasks.images.catalogue import DIGITS
from whyconv.tasks.sequence import COLUMNS, ROWS, Sequence, cut_digits

ROWS_SHOWN = 2
WINDOW = 3
"""Digits in a kernel."""
_STYLE = "<style>@media (prefers-color-scheme: dark) { .ink { filter: invert(1) } }</style>"


def problem(task: Sequence, counts: tuple[int, ...]) -> dict[str, str]:
    """Sequences of the shortest and of the longest kind that was run, with the digits that count outlined."""
    task, note = _here(task)
    counted = "three" if task.counted == 3 else str(task.counted)
    caption = (
        f"Sequences of {counts[0]} and of {counts[-1]} digits: whether the sum of the {counted} outlined "
        f"ones is even or odd decides{note}"
    )
    parts, top = [_STYLE], 24.0
    for n in (counts[0], counts[-1]):
        given = task.model_copy(update={"digits": n})
        for line in range(ROWS_SHOWN):
            drawn, high = _sequence(given, 1 if line % 2 == 0 else -1, top)
            parts += drawn
            top += high + 34
    return {caption: svg(top - 10, parts, "Digits side by side; those that decide are outlined")}


def _here(task: Sequence) -> tuple[Sequence, str]:
    """The task on images that are here, and what to say if they are not those of the run."""
    try:
        if images.here(task.images, task.batches):
            return task, f"; images: {images.describe(task.images)}"
        why = "are not on this machine"
    except UserError:
        why = "cannot be read on this machine"
    other = task.model_copy(update={"images": DIGITS, "batches": None})
    return other, f"; images: {images.describe(DIGITS)}, since those of the run {why}"


def _sequence(task: Sequence, label: int, top: float) -> tuple[list[str], float]:
    """A sequence with this label, as wide as there is room, and its height."""
    stock = cut_digits(task.images, "train", task.cut)
    rng, signs, places = np.random.default_rng(task.digits), np.asarray(stock.signs), task.places()
    chosen = rng.integers(len(signs), size=task.digits)
    while signs[chosen[places]].prod() != label:
        chosen = rng.integers(len(signs), size=task.digits)
    step = min(WIDTH / task.digits, 44.0)
    high = step * ROWS / COLUMNS
    pixels = np.concatenate([255 - np.asarray(stock.pixels[each]) for each in chosen], axis=1)
    kind, said = ("positive", "y = +1: even") if label > 0 else ("negative", "y = −1: odd")
    parts = [
        text(0, top - 6, f"n = {task.digits}", "quiet"),
        text(WIDTH, top - 6, said, f"strong {kind}", "end"),
    ]
    parts.append(f'<g class="ink">{bitmap(pixels, 0, top, step * task.digits, high)}</g>')
    for place in places:
        parts.append(
            f'<rect class="{kind} frame" x="{place * step + 1:.1f}" y="{top - 1:.1f}" width="{step - 2:.1f}" '
            f'height="{high + 2:.1f}"/>'
        )
    return parts, high


def felt(task: Sequence) -> dict[str, str]:
    """Why a shift by a pixel is felt: where kernels stand, before and after, at both strides."""
    task, _ = _here(task)
    caption = (
        "Why a pixel of shift is felt: kernels that step by a digit stand where digits begin, and each place "
        "has its own readout; after a shift no kernel stands right. Of kernels that step by a pixel one in "
        "eight stands right again, a few places further, and pooling over these places finds it: with --set "
        "stride=pixel --set pool=8 most of the accuracy stays"
    )
    parts, top = [_STYLE], 26.0
    for title, shift, stride in (
        ("as trained: kernels step by a digit (8 pixels)", 0, COLUMNS),
        ("moved by 3 pixels: every kernel cuts digits", 3, COLUMNS),
        ("moved by 3 pixels, kernels step by a pixel: one of eight fits", 3, 1),
    ):
        drawn, high = _kernels(task, title, shift, stride, top)
        parts += drawn
        top += high
    return {caption: svg(top - 14, parts, "Kernels above digits, before and after a shift")}


def _kernels(task: Sequence, title: str, shift: int, stride: int, top: float) -> tuple[list[str], float]:
    """Five digits, and the kernels of three digits above them."""
    n, pixel = 5, WIDTH / (5 * COLUMNS + 4)
    stock = cut_digits(task.images, "train", task.cut)
    chosen = np.random.default_rng(3).integers(len(stock.signs), size=n)
    pixels = np.concatenate([255 - np.asarray(stock.pixels[each]) for each in chosen], axis=1)
    high = ROWS * pixel * 0.62
    parts = [text(0, top - 8, title, "quiet")]
    left = shift * pixel
    parts.append(f'<g class="ink">{bitmap(pixels, left, top, n * COLUMNS * pixel, high)}</g>')
    starts = range(0, (n - WINDOW) * COLUMNS + 1, stride)
    lines = [*_bars(starts, shift, pixel, top + high + 6)]
    return [*parts, *lines], high + 18 + 8 * min(len(starts), 6) + 34


def _bars(starts: range, shift: int, pixel: float, top: float) -> Iterator[str]:
    """A bar for every kernel, teal where it begins with a digit, else red; of many, those nearby."""
    near = [start for start in starts if len(starts) <= 6 or COLUMNS <= start < COLUMNS + 6]
    for line, start in enumerate(near):
        kind = "positive" if (start - shift) % COLUMNS == 0 else "negative"
        yield (
            f'<rect class="{kind}" x="{start * pixel:.1f}" y="{top + 8 * line:.1f}" '
            f'width="{WINDOW * COLUMNS * pixel:.1f}" height="5" stroke-width="0" rx="2"/>'
        )
