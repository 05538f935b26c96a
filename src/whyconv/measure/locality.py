"""How local a filter is: how close together the pixels are that it depends on."""

from __future__ import annotations

from whyconv.lazy import np


def locality(filters: np.ndarray, image_shape: tuple[int, ...]) -> np.ndarray:
    """A score per filter: 1 for a single pixel, 0 for uniform energy on the whole image; may be negative.

    The energy of a filter w at the pixel p = (row, column) is e_p = sum_c w_pc^2 divided by its sum over all
    pixels. For two pixels P, P' drawn independently from e,

        spread = E |P - P'|^2 = 2 (Var row + Var column),     score = 1 - spread / spread of the image,

    the latter for uniform energy on an image of H x W pixels, (H^2 - 1 + W^2 - 1) / 6. A filter with uniform
    energy on k x k of N x N pixels has the score 1 - (k^2 - 1) / (N^2 - 1), noise on the whole image nearly
    0, and energy in opposite corners a negative one.

    ``filters`` (count, rows, columns, channels) may be smaller than the image, whose shape begins with
    (H, W); the position of a filter does not matter. The score is nan for a filter of zeros or an image of
    one pixel.
    """
    height, width = image_shape[:2]
    energy = np.square(np.asarray(filters, float)).sum(axis=3)
    with np.errstate(invalid="ignore", divide="ignore"):
        energy = energy / energy.sum(axis=(1, 2), keepdims=True)
        spread = 2 * (_variance(energy.sum(axis=2)) + _variance(energy.sum(axis=1)))
        return 1 - spread / np.float64((height**2 + width**2 - 2) / 6)


def _variance(shares: np.ndarray) -> np.ndarray:
    """The variance of positions 0, 1, ... with the probabilities ``shares`` (count, positions)."""
    places = np.arange(shares.shape[1])
    centres = shares @ places
    return (shares * (places - centres[:, None]) ** 2).sum(axis=1)
