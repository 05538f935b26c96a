"""What every claim is asked. Each file of claims asks it of its own claims, beside their numbers.

A claim is decided once in a file, however many tests look at it, and in one file only: pytest hands whole
files to its workers, so this keeps the work of the suite at one check and one control a claim.
"""

import json
from functools import cache

import pytest

from whyconv import registry
from whyconv.measure.estimate import Estimate


@cache
def check(name):
    return registry.find("claim", name)().check()


@cache
def control(name, word="control"):
    return registry.find("claim", name)().control(word)


def controls(name):
    """The evidence of every control."""
    return [control(name, word) for word in registry.find("claim", name).controls()]


class EveryClaim:
    """A file subclasses it as ``TestEveryClaim``.

    ``modules``: where its claims are, under ``whyconv.papers``; ``twice``: some that are quick; ``slow``:
    those that take many seconds, which CI decides with other kernels (tests/kernels.py), and make test-long
    here.
    """

    paper: str
    modules: tuple[str, ...]
    twice: tuple[str, ...]
    slow: tuple[str, ...] = ()

    @classmethod
    def names(cls):
        homes = tuple(f"whyconv.papers.{module}" for module in cls.modules)
        return [piece.name for piece in registry.pieces("claim") if piece.__module__.startswith(homes)]

    def pytest_generate_tests(self, metafunc):
        names = self.twice if "twice" in metafunc.function.__name__ else self.names()
        metafunc.parametrize("name", self.cases((name,) for name in names))

    @classmethod
    def cases(cls, lines):
        """Parameters, lines that begin with the name of a claim; those of slow ones are ``long``."""
        return [pytest.param(*line, marks=[pytest.mark.long] * (line[0] in cls.slow)) for line in lines]

    def test_the_verdict_is_the_recorded_one(self, name):
        assert check(name).verdict == registry.find("claim", name).expected

    def test_every_control_fails(self, name):
        assert {evidence.verdict for evidence in controls(name)} == {"fails"}

    def test_evidence_is_short_plain_and_named(self, name):
        piece = registry.find("claim", name)
        assert piece.reference.startswith(f"{self.paper}, ") and piece.broken
        assert len(piece.summary()) <= 110
        for evidence in (check(name), *controls(name)):
            assert 1 <= len(evidence.numbers) <= 12
            assert all(
                isinstance(value, int | float | str | bool | Estimate) for value in evidence.numbers.values()
            )
            json.dumps(evidence.data(), allow_nan=False)

    def test_a_claim_says_the_same_twice(self, name):
        assert registry.find("claim", name)().check() == check(name)
