"""One signal in one of many patches, in noise (Lahoti et al.)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whyconv.lazy import np
from whyconv.page.pictures import strips
from whyconv.page.question import LOCALITY, SHARING, Knob, Question, Story, among
from whyconv.page.questions import patches
from whyconv.studies.worth import Step

DIM = 10


class OneSignal(Question, name="page.signal"):
    """One signal in one of k patches: its sign is the label, the rest is noise."""

    reference: ClassVar[str] = "Lahoti et al., Dynamic Signal Distribution"
    title: ClassVar[str] = "What is it worth to look for one signal everywhere?"
    rule: ClassVar[str] = patches.RULE
    label: ClassVar[str] = "a signal in noise"
    knobs: ClassVar[tuple[Knob, ...]] = (
        Knob(
            "mixed", "Mix all numbers",
            "Each number becomes a mixture of all, by one recipe for every input: no patch holds the signal.",
            LOCALITY, so="all numbers are mixed",
        ),
        Knob(
            "place", "The signal", "If it never moves, one place is enough: much less is left to share.",
            SHARING, {"moves": "moves", "stays": "stays in the first patch"}, "it stays in the first patch",
        ),
        Knob(
            "turned", "Turn every patch", "Each patch is rotated in its own way: one filter cannot fit all.",
            SHARING, so="every patch is turned",
        ),
        patches.POOLED,
        Knob("patches", "Patches k", "How many patches an input has."),
        Knob("sigma", "Noise", "Standard deviation of the noise; the signal has length 1."),
    )  # fmt: skip
    priors: ClassVar[tuple[Step, ...]] = patches.PRIORS
    notes: ClassVar[Mapping[str, str]] = patches.NOTES
    reach: ClassVar[float] = 0.1

    mixed: bool = False
    place: str = among("moves", "stays", usual="moves")
    turned: bool = False
    pooling: str = among("max", "average", usual="max")
    patches: int = among(5, 10, 20, 40, usual=20)
    sigma: float = among(0.05, 0.1, 0.2, usual=0.1)
    m: int = among(40, 80, 160, 320, usual=160)

    stories: ClassVar[tuple[Story, ...]] = (
        Story(
            "Sharing is worth a factor of k",
            "A shared filter learns from all k = 20 patches, each separate one from one example in 20.",
            SHARING,
            {"sigma": 0.2, "m": 320, "seeds": 8},
        ),
        Story(
            "A signal that stays needs no sharing",
            "If the signal is always in the first patch, one filter is enough, shared or not.",
            SHARING,
            {"place": "stays", "seeds": 8},
        ),
    )

    def about(self) -> str:
        where = "The first patch" if self.place == "stays" else "One patch, at random,"
        text = (
            f"An input is a row of patches of ten numbers. {where} holds a fixed hidden pattern, with plus "
            "or minus sign; the sign is the label. All patches are noisy."
        )
        if self.mixed:
            return f"{text} Then each number becomes a mixture of all, by one recipe for every input."
        turned = " Then each patch is turned in a way of its own, the same for every input."
        return text + turned * self.turned

    def sizes(self) -> list[int]:
        return [m for m in (5, 10, 20, 40, 80, 160, 320) if m <= self.m]

    def contestants(self) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
        return patches.arms(self.pooling)

    def world(self) -> dict[str, Any]:
        rotated = "all" if self.mixed else "patches" if self.turned else "no"
        place = 1 if self.place == "stays" else None
        return {
            "name": "signal", "patches": self.patches, "patch_dim": DIM, "sigma": self.sigma,
            "place": place, "rotated": rotated,
        }  # fmt: skip

    def example(self) -> str:
        """Two inputs, one of each label; the patch with the signal is framed unless numbers are mixed."""
        rng = np.random.default_rng(7)
        signal = rng.normal(size=DIM)
        signal /= np.linalg.norm(signal)
        turns = [np.linalg.qr(rng.normal(size=(DIM, DIM)))[0] for _ in range(self.patches)]
        whole = rng.permutation(self.patches * DIM)
        rows = []
        for label in (1, -1):
            seat = 0 if self.place == "stays" else int(rng.integers(self.patches))
            x = self.sigma * rng.normal(size=(self.patches, DIM))
            x[seat] += label * signal
            if self.mixed:
                x, seat = x.ravel()[whole].reshape(x.shape), -1
            elif self.turned:
                x = np.stack([turn @ part for turn, part in zip(turns, x, strict=True)])
            rows.append((x, seat, label))
        return strips(rows, 0.7)
