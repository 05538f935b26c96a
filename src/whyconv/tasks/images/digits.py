"""The embedded set: the digits that ship inside scikit-learn, so that everything runs without a download."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from whyconv.errors import UserError
from whyconv.lazy import np

SPLIT = (1_297, 500)
"""Images for training and for the test."""

SHA256 = "2b9c1613c8e15aa564c086ea1861186c0ddb30f0378ca3459451792324f666b8"
"""The checksum of what :func:`load` returns: images and labels for training, then for the test."""


class Images(NamedTuple):
    """Images as uint8 (count, height, width, channels), and their labels as uint8 (count,)."""

    images: np.ndarray
    labels: np.ndarray


def load() -> tuple[Images, Images]:
    """1,297 images for training and 500 for the test, 8 x 8, grey levels 0 to 16 stretched to 0 to 255.

    Sorted by SHA-256("digit i"), i from 0 as in scikit-learn: a fixed order that separates neighbours, which
    are often by the same hand. The last 500 are the test.
    """
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = sorted(range(len(labels)), key=lambda i: hashlib.sha256(f"digit {i}".encode()).digest())
    images = np.rint(images * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8, 1)[order]
    labels = labels.astype(np.uint8)[order]
    parts = [Images(images[rows], labels[rows]) for rows in (slice(SPLIT[0]), slice(SPLIT[0], None))]
    if checksum(*parts) != SHA256:
        raise UserError(
            "the digits in this scikit-learn are not the expected ones; install the scikit-learn of "
            "requirements.lock, or choose another image set."
        )
    return parts[0], parts[1]


def checksum(*parts: Images) -> str:
    """SHA-256 of the bytes of images and labels, part by part."""
    return hashlib.sha256(b"".join(array.tobytes() for part in parts for array in part)).hexdigest()
