"""Claims: one statement of a paper each, decided by a procedure that must fail on something broken."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

from whyconv.claims.errata import Erratum
from whyconv.errors import UserError
from whyconv.spec import Piece
from whyconv.verdict import Evidence, Number, Verdict

if TYPE_CHECKING:
    from whyconv.studies import Study

Provenance = Literal["paper", "derived", "reconstructed", "misprint"]
"""Whose wording a statement is: the paper's, ours, pieced together from second-hand text, or the paper's as
far as the text at hand shows it, which has a misprint there."""


@dataclass(frozen=True)
class Instance:
    """How near one case comes to a bound: ``ratio`` = measured / bound, and the settings that give it."""

    ratio: float
    settings: Mapping[str, Number]


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
    trials: ClassVar[bool] = False
    """Whether it runs trials of a study, in workers."""
    expected: ClassVar[Verdict]
    """The recorded verdict; ``whyconv check`` fails on any other."""
    erratum: ClassVar[Erratum | None] = None
    """What is printed, what holds instead, why, and where the proof breaks, if it *holds as corrected*."""
    broken: ClassVar[str | Mapping[str, str]]
    """What the control breaks on purpose, in one line; of several controls, a word for each and its line."""
    unsearched: ClassVar[str] = ""
    """Why there is no :meth:`stress`, in words that follow "not searched:"; claims of a paper have either."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if own := {name for name in ("check", "control") if getattr(cls, name) is not getattr(Claim, name)}:
            raise UserError(
                f"the claim {kwargs.get('name', cls.__name__)!r} of {cls.__module__} defines "
                f"{' and '.join(sorted(own))}; define decide(self, broken) alone, which both call."
            )

    @abstractmethod
    def decide(self, broken: str) -> Evidence:
        """Decide the statement; if ``broken`` is a control's word, by the same steps with that broken.

        A claim with one control gets the word "control", and may ask ``if broken``.
        """

    def stress(self, seed: int) -> Mapping[str, Instance]:
        """A round of the search for counterexamples: for each inequality, the case nearest to its bound.

        A pure function of ``seed`` that takes seconds at most; ``whyconv check --stress`` goes through the
        seeds. A ratio above 1 contradicts the statement. Empty for a claim that is ``unsearched``.
        """
        return {}

    @classmethod
    def measures(cls) -> Study | None:
        """The study whose trials it runs, with recorded seeds; ``make record`` keeps its rows."""
        return None

    @classmethod
    def origin_of_rows(cls) -> Literal["kept", "computed"]:
        """Whether the verdict is of kept rows, of which a few were computed again, or of new ones."""
        return "computed"

    @classmethod
    @final
    def controls(cls) -> Mapping[str, str]:
        """What each control breaks, by its word."""
        return {"control": cls.broken} if isinstance(cls.broken, str) else cls.broken

    @final
    def check(self) -> Evidence:
        """The verdict on the statement."""
        return self.decide("")

    @final
    def control(self, word: str) -> Evidence:
        """The verdict with one of ``controls`` in place; it must not be ``expected``."""
        return self.decide(word)
