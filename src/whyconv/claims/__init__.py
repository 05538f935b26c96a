"""Claims: one statement of a paper each, decided by a procedure that must fail on something broken."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, final

from whyconv.errors import UserError
from whyconv.spec import Piece
from whyconv.verdict import Evidence, Verdict

Provenance = Literal["paper", "derived", "reconstructed"]
"""Whose wording a statement is: the paper's, ours, or pieced together from second-hand text."""


class Claim(Piece):
    """One statement of a paper. The class docstring's first line is the statement, in one line.

    Subclasses are named ``paper.place`` (``class Lemma52(Claim, name="brutzkus.lemma5.2")``) and define one
    procedure, ``decide``. It is deterministic: what it draws, it draws from fixed seeds. Two routes that
    share no code belong in it; the verdict is *holds* only where both agree.
    """

    kind: ClassVar[str] = "claim"
    required: ClassVar[tuple[str, ...]] = ("reference", "expected", "broken")
    reference: ClassVar[str]
    """Where the statement is found: ``"Brutzkus & Globerson, Lemma 5.2"``."""
    provenance: ClassVar[Provenance] = "paper"
    expected: ClassVar[Verdict]
    """The recorded verdict; ``whyconv check`` fails on any other."""
    broken: ClassVar[str]
    """What the control breaks on purpose, in one line."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if own := {name for name in ("check", "control") if getattr(cls, name) is not getattr(Claim, name)}:
            raise UserError(
                f"the claim {kwargs.get('name', cls.__name__)!r} of {cls.__module__} defines "
                f"{' and '.join(sorted(own))}; define decide(self, broken) alone, which both call."
            )

    @abstractmethod
    def decide(self, broken: bool) -> Evidence:
        """Decide the statement; if ``broken``, by the same steps on something broken on purpose."""

    @final
    def check(self) -> Evidence:
        """The verdict on the statement."""
        return self.decide(broken=False)

    @final
    def control(self) -> Evidence:
        """The verdict with ``broken`` in place; it must not be ``expected``."""
        return self.decide(broken=True)
