"""Written digits, ten classes: the images that come with the package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whyconv.lazy import np
from whyconv.page.pictures import images, scan
from whyconv.page.question import LOCALITY, Knob, Question, among
from whyconv.page.questions import patches
from whyconv.page.questions.patches import AVERAGE, CNN, FCN, LCN, MAX, POOLED
from whyconv.pixels import pixel_order
from whyconv.studies.worth import Step

UNITS = 16 * 6 * 6
"""Hidden units of the others: so FCN differs from them in what a unit sees, not in how many there are."""
LEARNER = {"name": "gradient", "epochs": 40, "loss": "cross-entropy"}


class Digits(Question, name="page.digits"):
    """Which digit is it? 8 x 8 pixels, ten classes."""

    reference: ClassVar[str] = "the digits of scikit-learn; controls as in Malach & Shalev-Shwartz, section 5"
    title: ClassVar[str] = "What is it worth to know that pixels are an image?"
    rule: ClassVar[str] = (
        "One hidden layer of 576 units: each sees all pixels (FCN) or 3 x 3 of them (16 at each place); "
        "ConvPool pools 2 x 2 places. Adam, 40 epochs."
    )
    label: ClassVar[str] = "written digits"
    knobs: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "permuted", "Permute the pixels", "One random order of all pixels.", LOCALITY,
            so="these are permuted",
        ),
        POOLED,
        Knob(
            "shift", "Shift the test by", "To the right, in the test alone: who has learned places fails.",
            words={0: "nothing", 1: "1 pixel", 2: "2 pixels"}, so="the test is shifted",
        ),
    )  # fmt: skip
    priors: ClassVar[tuple[Step, ...]] = patches.PRIORS
    reach: ClassVar[float] = 0.2
    test_size: ClassVar[int] = 350
    chance: ClassVar[float] = 0.9

    permuted: bool = False
    pooling: str = among("max", "average", usual="max")
    shift: int = among(0, 1, 2, usual=0)
    m: int = among(200, 400, 800, usual=400)

    def about(self) -> str:
        text = "An image of 8 x 8 pixels shows one written digit; which of the ten is it?"
        if self.shift:
            pixels = "1 pixel" if self.shift == 1 else f"{self.shift} pixels"
            text += f" In the test alone it is moved to the right by {pixels}."
        return text + patches.PERMUTED * self.permuted

    def sizes(self) -> list[int]:
        return [m for m in (25, 50, 100, 200, 400, 800) if m <= self.m]

    def told_at(self, step: Step) -> int:
        """Few examples: with many all networks read these digits."""
        del step
        return 50

    def note(self, step: Step) -> str:
        """Why permuted pixels change little: FCN is blind to the order, LCN reads all windows at once."""
        if step.prior == LOCALITY and self.permuted:
            return (
                "On digits so small an LCN gains nothing over an FCN in the usual order either, so permuting "
                "has nothing to take away."
            )
        return super().note(step)

    def contestants(self) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
        def network(kind: str, **more: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
            return {"name": kind, "outputs": 10, **more}, LEARNER

        convolution = {"channels": [16]}
        return {
            FCN: network("deep-fcn", widths=[UNITS]),
            LCN: network("deep-lcn", **convolution),
            CNN: network("deep-cnn", **convolution),
            AVERAGE: network("deep-cnn", **convolution, pool=2, pooling="average"),
            MAX: network("deep-cnn", **convolution, pool=2, pooling=self.pooling),
        }

    def world(self) -> dict[str, Any]:
        return {
            "name": "image-classes",
            "images": "digits",
            "permuted": self.permuted,
            "shifted_tests": [1, 2],
        }

    def table(self, points: Any, rows: Any) -> Any:
        """One line per trial, whose error is that of the test asked for: trials have all three."""
        found = super().table(points, rows)
        if self.shift and len(found):
            found["test_error"] = found[f"test_error_shift_{self.shift}"]
        return found

    def example(self) -> str:
        """One image of each of four digits."""
        pixels, labels = scan()
        shown = []
        for digit in (0, 3, 5, 8):
            image = pixels[np.flatnonzero(labels == digit)[2]]
            if self.shift:
                image = np.pad(image, ((0, 0), (self.shift, 0)))[:, : image.shape[1]]
            if self.permuted:
                image = image.ravel()[pixel_order((*image.shape, 1))].reshape(image.shape)
            shown.append((image, str(digit)))
        return images(shown)
