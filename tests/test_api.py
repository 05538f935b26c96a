"""What a claim that cannot be decided comes to: the word error, with the reason, and never a pass."""

import sys
from typing import get_args

import pytest

from whyconv import api
from whyconv.cli.terminal import COLOURS
from whyconv.exact.margins.max_margin import Undecidable
from whyconv.report.wording import MEANINGS
from whyconv.verdict import Evidence, Verdict

HOLDS, FAILS = Evidence("holds", {"n": 3}), Evidence("fails")


def decided(monkeypatch, check=lambda: HOLDS, control=lambda: FAILS):
    """The claims' dictionaries of a made-up claim between two others."""

    def claim(name, check, control):
        parts = {"check": staticmethod(check), "control": staticmethod(control)}
        facts = {"name": name, "reference": "A", "provenance": "paper", "expected": "holds", "broken": "b"}
        return type("Made", (), {**facts, **parts, "summary": staticmethod(lambda: "s")})

    usual = (lambda: HOLDS, lambda: FAILS)
    claims = [claim("own.a", *usual), claim("own.b", check, control), claim("own.c", *usual)]
    monkeypatch.setattr(api, "chosen_claims", lambda which: claims)
    first, found, last = api.check("own")
    for good in (first, last):
        assert api.as_expected(good) and good["numbers"] == {"n": 3}, "the others are decided all the same"
    return found


def raises(error):
    def part():
        raise error

    return part


BAD = {
    "a solver that could not": (raises(Undecidable("3 rows: open", False)), "Undecidable: 3 rows: open"),
    "a mistake": (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
    "an exit": (lambda: sys.exit(0), "SystemExit: 0"),
    "nothing": (lambda: None, "TypeError: {part} returned None"),
    "a word": (lambda: "holds", "TypeError: {part} returned 'holds'"),
    "no such verdict": (lambda: Evidence("perhaps"), "TypeError: {part} returned Evidence"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_check_that_could_not_decide_is_an_error(name, monkeypatch):
    part, reason = BAD[name]
    found = decided(monkeypatch, check=part)
    assert (found["verdict"], found["control_verdict"]) == ("error", "fails")
    assert found["numbers"]["error"].startswith(reason.format(part="check"))
    assert not api.as_expected(found)


@pytest.mark.parametrize("name", BAD)
def test_a_control_that_could_not_decide_does_not_flip(name, monkeypatch):
    part, reason = BAD[name]
    found = decided(monkeypatch, control=part)
    assert (found["verdict"], found["control_verdict"]) == ("holds", "error")
    assert found["numbers"]["error in the control"].startswith(reason.format(part="control"))
    assert found["numbers"]["n"] == 3 and not api.as_expected(found)


def test_an_interrupt_is_none_of_a_claims_business(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        decided(monkeypatch, check=raises(KeyboardInterrupt()))


def test_every_word_has_a_meaning_and_a_colour():
    words = set(get_args(Verdict))
    assert "error" in words and words == set(MEANINGS) and words <= set(COLOURS)
