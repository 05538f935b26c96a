"""Claims that do as a test wants, and are in no registry."""

from typing import Any, ClassVar

from whyconv import api
from whyconv.claims import Claim
from whyconv.verdict import Evidence

HOLDS, FAILS, UNDECIDED = Evidence("holds", {"n": 3}), Evidence("fails"), Evidence("undecided")


def gives(evidence):
    return lambda: evidence


def raises(error):
    def part():
        raise error

    return part


def made(name, check=gives(HOLDS), control=gives(FAILS)):
    """A claim that decides by ``check`` or, broken, by ``control``."""

    class Made(Claim):
        """A statement."""

        reference: ClassVar[str] = "A paper, Lemma 1"
        expected: ClassVar[Any] = "holds"
        broken: ClassVar = "something"

        def decide(self, broken: str) -> Any:
            return control() if broken else check()

    Made.name = name
    return Made


def choose(monkeypatch, *claims):
    """Let these be all claims that there are."""
    monkeypatch.setattr(api, "chosen_claims", lambda which: list(claims))
