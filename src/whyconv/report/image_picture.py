"""A picture of a task of images: some of each class, and one with its pixels permuted, as controls see it."""

from __future__ import annotations

from whyconv.errors import UserError
from whyconv.lazy import np
from whyconv.pixels import pixel_order
from whyconv.report.drawing import WIDTH, svg, text
from whyconv.report.raster import bitmap
from whyconv.tasks import images
from whyconv.tasks.images.catalogue import DIGITS

EACH, CLASSES = 2, 10


def problem(name: str, batches: tuple[int, ...] | None = None) -> dict[str, str]:
    """Images by class, from the set that was run, or from the embedded digits if it is not here."""
    note = ""
    try:
        here = images.here(name, batches)
    except UserError:
        here = False
    if not here:
        note, name = f"; the images of the run, {name}, are not on this machine", DIGITS
    found = images.load(name).test
    caption = (
        f"Two images of each class, and below them one image as it is and with permuted pixels ({name}{note})"
    )
    return {caption: _picture(np.asarray(found.images), np.asarray(found.labels))}


def _picture(pixels: np.ndarray, labels: np.ndarray) -> str:
    size, top = WIDTH / CLASSES - 4, 4.0
    parts = []
    for kind in range(min(CLASSES, int(labels.max()) + 1)):
        for number, place in enumerate((labels == kind).nonzero()[0][:EACH]):
            parts.append(_one(pixels[place], kind * (size + 4), top + number * (size + 4), size))
    line, large = top + EACH * (size + 4) + 26, 2.4 * size
    first = pixels[(labels == labels[0]).nonzero()[0][0]]
    flat = first.reshape(-1, first.shape[-1])
    mixed = flat[pixel_order(first.shape)].reshape(first.shape)
    for number, (said, image) in enumerate((("as it is", first), ("permuted pixels (control)", mixed))):
        left = number * (large + 40)
        parts += [text(left, line, said, "quiet"), _one(image, left, line + 8, large)]
    return svg(line + large + 16, parts, "Images of every class, and one with its pixels permuted")


def _one(image: np.ndarray, left: float, top: float, size: float) -> str:
    return bitmap(image[..., 0] if image.shape[-1] == 1 else image, left, top, size, size)
