"""Claims: one statement of a paper each, with a check, a verdict, and a control that flips it."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

from whyconv.spec import Piece
from whyconv.verdict import Evidence, Verdict

Provenance = Literal["paper", "derived", "reconstructed"]
"""Whose wording a statement is: the paper's, ours, or put together from second-hand text."""


class Claim(Piece):
    """One statement of a paper. The class docstring's first line is the statement, in one line.

    Subclasses are named ``paper.place`` (``class Lemma52(Claim, name="brutzkus.lemma5.2")``) and
    live one paper to a module. ``check`` and ``control`` are deterministic: what they draw, they
    draw from fixed seeds. Two routes that share no code belong into ``check``; the verdict is
    *holds* only where both agree.
    """

    kind: ClassVar[str] = "claim"
    required: ClassVar[tuple[str, ...]] = ("reference", "expected", "broken")
    reference: ClassVar[str]
    """Where the statement stands: ``"Brutzkus & Globerson, Lemma 5.2"``."""
    provenance: ClassVar[Provenance] = "paper"
    expected: ClassVar[Verdict]
    """The recorded verdict; ``whyconv check`` fails when another one comes out."""
    broken: ClassVar[str]
    """What the control breaks on purpose, in one line."""

    @abstractmethod
    def check(self) -> Evidence:
        """Decide the statement."""

    @abstractmethod
    def control(self) -> Evidence:
        """The same decision procedure on something broken on purpose; must not give ``expected``."""
