"""A 3 or a 5 among four digits (Brutzkus & Globerson, Figure 3c)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whyconv.lazy import np
from whyconv.page.pictures import images, scan
from whyconv.page.question import LOCALITY, POOLING, TOGETHER, Knob, Question, Story, among
from whyconv.page.questions import patches
from whyconv.pixels import pixel_order, side_by_side
from whyconv.studies.worth import Step


class FourDigits(Question, name="page.digit-grid"):
    """A 3 or a 5 among four written digits, at any of four places."""

    reference: ClassVar[str] = "Brutzkus & Globerson, section 7, Figures 3c and 5"
    title: ClassVar[str] = "What is it worth to look for a digit at every place?"
    rule: ClassVar[str] = patches.RULE
    label: ClassVar[str] = "a digit among four"
    knobs: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "permuted",
            "Permute the pixels",
            "One random order of all pixels: digits are torn apart.",
            LOCALITY,
            so="pixels are permuted",
        ),
        patches.POOLED,
    )
    priors: ClassVar[tuple[Step, ...]] = patches.PRIORS
    notes: ClassVar[Mapping[str, str]] = patches.NOTES
    reach: ClassVar[float] = 0.1

    permuted: bool = False
    pooling: str = among("max", "average", usual="max")
    m: int = among(200, 400, 800, usual=400)

    stories: ClassVar[tuple[Story, ...]] = (
        Story(
            "Max-pooling ignores what does not matter",
            "The largest response forgets the other three digits; an average carries them along.",
            POOLING,
            {},
        ),
        Story(
            "Permute the pixels and the CNN is no better than an FCN",
            "Sharing needs neighbours that belong together: in a random order the CNN is no better, here "
            "worse; switch that off, and it wins.",
            TOGETHER,
            {"permuted": True, "seeds": 8},
        ),
    )

    def about(self) -> str:
        text = (
            "An image holds four written digits. One of them, anywhere, is a 3 or a 5, and that is the "
            "question; the others are neither. The digits come with the package."
        )
        return text + patches.PERMUTED * self.permuted

    def sizes(self) -> list[int]:
        return [m for m in (25, 50, 100, 200, 400, 800) if m <= self.m]

    def contestants(self) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
        return patches.arms(self.pooling)

    def world(self) -> dict[str, Any]:
        return {"name": "digit-grid", "images": "digits", "permuted": self.permuted}

    def example(self) -> str:
        """Two images, one of each class."""
        rng, (pixels, labels) = np.random.default_rng(5), scan()
        others = np.flatnonzero((labels != 3) & (labels != 5))
        shown = []
        for digit in (3, 5):
            chosen = rng.choice(others, 4)
            chosen[rng.integers(4)] = rng.choice(np.flatnonzero(labels == digit))
            whole = np.asarray(side_by_side(pixels[chosen][None, ..., None], 2))[0, ..., 0]
            if self.permuted:
                whole = whole.ravel()[pixel_order((*whole.shape, 1))].reshape(whole.shape)
            shown.append((whole, f"holds a {digit}"))
        return images(shown)
