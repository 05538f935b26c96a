"""One of two patterns hides among many others (Brutzkus & Globerson)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whyconv.lazy import np
from whyconv.page.pictures import strips
from whyconv.page.question import LOCALITY, SHARING, Knob, Question, Story, among
from whyconv.page.questions import patches
from whyconv.studies.worth import Step

DIM = 20


class Finding(Question, name="page.detection"):
    """Which of two patterns is among many others, at any position?"""

    reference: ClassVar[str] = "Brutzkus & Globerson, section 3 and Figure 3"
    title: ClassVar[str] = "What is it worth to find a pattern wherever it is?"
    rule: ClassVar[str] = patches.RULE
    label: ClassVar[str] = "a pattern among others"
    knobs: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "permuted",
            "Permute the inputs",
            "One random order of all numbers: patterns are torn.",
            LOCALITY,
            so="inputs are permuted",
        ),
        patches.POOLED,
        Knob("positions", "Positions n", "How many patterns an input holds."),
        Knob("noise", "Noise", "The length of a random vector added to every pattern, whose length is 1."),
    )
    priors: ClassVar[tuple[Step, ...]] = patches.PRIORS
    notes: ClassVar[Mapping[str, str]] = patches.NOTES
    reach: ClassVar[float] = 0.1

    permuted: bool = False
    pooling: str = among("max", "average", usual="max")
    positions: int = among(5, 10, 20, usual=10)
    noise: float = among(0.0, 0.5, 1.0, usual=0.0)
    m: int = among(80, 160, 320, 640, usual=320)

    stories: ClassVar[tuple[Story, ...]] = (
        Story(
            "Find it anywhere",
            "Who shares a filter finds the pattern wherever it is; others learn every place anew.",
            SHARING,
            {},
        ),
    )

    def about(self) -> str:
        text = (
            "An input is a row of n patterns. One of them, at a random place, is that of class + or that of "
            "class −; all others mean nothing."
        )
        order = " Then all numbers are put in a random order, the same for every input."
        return text + order * self.permuted

    def sizes(self) -> list[int]:
        return [m for m in (10, 20, 40, 80, 160, 320, 640) if m <= self.m]

    def contestants(self) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
        return patches.arms(self.pooling)

    def world(self) -> dict[str, Any]:
        return {
            "name": "detection", "positions": self.positions, "pattern_dim": DIM, "patterns": DIM,
            "noise": self.noise, "scrambled": self.permuted,
        }  # fmt: skip

    def example(self) -> str:
        """Two inputs, one of each label; the pattern that decides is framed unless inputs are permuted."""
        rng = np.random.default_rng(3)
        patterns = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
        order = rng.permutation(self.positions * DIM)
        rows = []
        for label in (1, -1):
            content = rng.integers(2, DIM, self.positions)
            seat = int(rng.integers(self.positions))
            content[seat] = 0 if label > 0 else 1
            x = patterns[content]
            if self.noise:
                dust = rng.normal(size=x.shape)
                x = x + self.noise * dust / np.linalg.norm(dust, axis=1, keepdims=True)
            if self.permuted:
                x, seat = x.ravel()[order].reshape(x.shape), -1
            rows.append((x, seat, label))
        return strips(rows, 0.5)
