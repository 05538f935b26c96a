"""Figure 5 of Brutzkus & Globerson: training images of both classes, drawn by the task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from whyconv.errors import UserError
from whyconv.lazy import jnp, np
from whyconv.report.drawing import WIDTH, svg, text
from whyconv.report.raster import bitmap
from whyconv.streams import stream
from whyconv.tasks import images
from whyconv.tasks.images.catalogue import DIGITS

if TYPE_CHECKING:
    from whyconv.tasks.digit_grid import DigitGrid

EACH = 4
_SIZE = 108
"""Images per class, and their width on the page."""
_STYLE = "<style>@media (prefers-color-scheme: dark) { .ink { filter: invert(1) } }</style>"


def figure5(task: DigitGrid) -> dict[str, str]:
    """Figure 5 as SVG text, by caption, from the task's images, or from the embedded digits
    (as the caption then says) if the former cannot be read here. Downloads nothing.
    """
    source = images.describe(task.images, task.batches)
    try:
        if images.here(task.images, task.batches):
            return {_caption(task, source): picture(task)}
        why = "are not on this machine"
    except UserError:
        why = "cannot be read on this machine (see whyconv data verify)"
    task = task.model_copy(update={"images": DIGITS, "batches": None})
    source = f"{images.describe(DIGITS)}, since the images of the run, {source}, {why}"
    return {_caption(task, source): picture(task)}


def _caption(task: DigitGrid, source: str) -> str:
    return (
        f"Images of both classes: the outlined digit decides, {task.positive} or {task.negative}, all others "
        f"appear in both ({source})"
    )


def picture(task: DigitGrid, seed: int = 0) -> str:
    """Two rows of training images; the ink is dark on a light page and light on a dark one."""
    inputs, labels, places = examples(task, seed)
    step = (WIDTH - _SIZE) / (EACH - 1)
    parts = [_STYLE]
    for label, name, digit, sign, top in (
        (1, "positive", task.positive, "+1", 26),
        (-1, "negative", task.negative, "−1", 26 + _SIZE + 44),
    ):
        parts.append(text(0, top - 10, f"{name} images", f"strong {name}"))
        parts.append(text(156, top - 10, f"y = {sign}", "math"))
        parts.append(text(WIDTH, top - 10, f"one {digit} in each", "quiet", "end"))
        for number, chosen in enumerate((labels == label).nonzero()[0][:EACH]):
            parts += _image(number * step, top, inputs[chosen], int(places[chosen]), task.side, name)
    return svg(26 + 2 * _SIZE + 46, parts, "Images of four digits, the one that decides outlined")


def examples(task: DigitGrid, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole images as bytes (example, row, column[, colour]), labels, and the positions that decide."""
    plain = task.model_copy(update={"permuted": False, "shift": 0, "shuffled_labels": False})
    world, draws = (stream(name, plain.lineage(), seed) for name in ("world", "train"))
    stock, index = plain.stock("train"), jnp.arange(16 * EACH)
    pixels, labels = plain.compose(stock, (), world, draws, index)
    _, places, _, _ = plain.contents(stock, draws, index)
    whole = np.asarray(pixels)
    return whole[..., 0] if whole.shape[-1] == 1 else whole, np.asarray(labels), np.asarray(places)


def _image(left: float, top: float, pixels: np.ndarray, place: int, side: int, kind: str) -> Iterator[str]:
    """One image with thin lines between its digits and a frame around the one that decides."""
    cell = _SIZE / side
    yield f'<g class="ink">{bitmap(255 - pixels, left, top, _SIZE, _SIZE)}</g>'
    lines = "".join(
        f"M{left + k * cell:g} {top:g}v{_SIZE}M{left:g} {top + k * cell:g}h{_SIZE}" for k in range(side + 1)
    )
    yield f'<path class="line" d="{lines}"/>'
    row, column = divmod(place, side)
    at = f'x="{left + column * cell:g}" y="{top + row * cell:g}" width="{cell:g}" height="{cell:g}"'
    yield f'<rect class="{kind} frame" {at}/>'
