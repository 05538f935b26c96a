"""The parity of a few neighbouring bits among many (Malach & Shalev-Shwartz)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whyconv.lazy import np
from whyconv.page.pictures import cells
from whyconv.page.question import LOCALITY, SHARING, TOGETHER, Knob, Question, Story, among
from whyconv.studies.worth import Step

FCN, LCN, CNN = "FCN", "LCN", "CNN"
LEARNER = {
    "name": "gradient", "optimiser": "sgd", "loss": "hinge", "batch": None, "epochs": 300, "rate": 1.0,
    "tolerance": 0.0,
}  # fmt: skip


class Bits(Question, name="page.bits"):
    """The parity of k neighbouring bits among n: can a network find which bits count?"""

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, sections 2 to 4"
    title: ClassVar[str] = "What is it worth to look at neighbours only?"
    rule: ClassVar[str] = (
        "One hidden layer of 64 filters per window (FCN: 64 neurons on all bits), hinge loss, 300 steps of "
        "full-batch gradient descent with rate 1."
    )
    label: ClassVar[str] = "a pattern of bits"
    knobs: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "permuted",
            "Permute the inputs",
            "A hidden order: neighbours are torn apart.",
            LOCALITY,
            so="the bits that count are none",
        ),
        Knob("n", "Bits n", "How many bits an input has."),
        Knob("k", "Bits that count k", "How many neighbouring bits decide the label."),
    )
    priors: ClassVar[tuple[Step, ...]] = (
        Step(LOCALITY, FCN, LCN),
        Step(SHARING, LCN, CNN),
        Step(TOGETHER, FCN, CNN),
    )
    reach: ClassVar[float] = 0.1

    permuted: bool = False
    n: int = among(10, 16, 24, usual=16)
    k: int = among(2, 3, 4, usual=3)
    m: int = among(400, 800, 1600, usual=800)

    stories: ClassVar[tuple[Story, ...]] = (
        Story(
            "Looking at neighbours is worth a factor",
            "A window finds the few bits that count; whoever sees all of them needs many more examples.",
            LOCALITY,
            {},
        ),
    )

    def about(self) -> str:
        counted = "bits, torn apart," if self.permuted else "neighbouring bits in the middle"
        return (
            "An input is a row of n fair bits; blue ones are on, the others off. The label is + if an even "
            f"number of k {counted} is off; networks are not told which bits count."
        )

    def sizes(self) -> list[int]:
        return [m for m in (50, 100, 200, 400, 800, 1600) if m <= self.m]

    def contestants(self) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
        window = {"filters": 64, "k_window": self.k}
        return {
            FCN: ({"name": "fcn", "filters": 64}, LEARNER),
            LCN: ({"name": "lcn", **window}, LEARNER),
            CNN: ({"name": "cnn", **window}, LEARNER),
        }

    def world(self) -> dict[str, Any]:
        return {"name": "k-junta" if self.permuted else "k-pattern", "n_bits": self.n, "k_window": self.k}

    def example(self) -> str:
        """Four inputs with their labels; the bits that count are framed."""
        rng = np.random.default_rng(4)
        first = (self.n - self.k) // 2
        counted = np.arange(first, first + self.k)
        if self.permuted:
            counted = np.sort(rng.choice(self.n, self.k, replace=False))
        return cells(rng.choice([-1, 1], (4, self.n)), counted.tolist())
