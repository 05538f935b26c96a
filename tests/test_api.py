"""What a claim that cannot be decided comes to: the word error, with the reason, and never a pass."""

import sys
from typing import get_args

import numpy as np
import pytest
from made_claims import FAILS, HOLDS, choose, gives, made, raises

from whyconv import api
from whyconv.cli.terminal import COLOURS
from whyconv.exact.margins.max_margin import Undecidable
from whyconv.report.wording import MEANINGS
from whyconv.verdict import Evidence, Verdict


def decided(monkeypatch, check=gives(HOLDS), control=gives(FAILS)):
    """The dictionary of a made-up claim that stands between two others."""
    choose(monkeypatch, made("own.a"), made("own.b", check, control), made("own.c"))
    first, found, last = api.check("own")
    for good in (first, last):
        assert api.as_expected(good) and good["numbers"] == {"n": 3}, "the others are decided all the same"
        assert good["traceback"] == ""
    return found


BAD = {
    "a solver that could not": (raises(Undecidable("3 rows: open", False)), "Undecidable: 3 rows: open"),
    "a mistake": (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
    "an exit": (lambda: sys.exit(0), "SystemExit: 0"),
    "nothing": (lambda: None, "TypeError: {part} returned None"),
    "a word": (lambda: "holds", "TypeError: {part} returned 'holds'"),
    "a number of NumPy": (
        lambda: Evidence("holds", {"n": np.int64(3)}),
        "TypeError: {part} returned a int64",
    ),
    "no such verdict": (lambda: Evidence("perhaps"), "TypeError: {part} returned Evidence"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_check_that_could_not_decide_is_an_error(name, monkeypatch):
    part, reason = BAD[name]
    found = decided(monkeypatch, check=part)
    assert (found["verdict"], found["control_verdict"]) == ("error", "fails")
    reason = reason.format(part="check")
    assert found["numbers"]["error"].startswith(reason)
    assert found["traceback"].startswith("Traceback") and reason in found["traceback"]
    assert not api.as_expected(found)


@pytest.mark.parametrize("name", BAD)
def test_a_control_that_could_not_decide_does_not_flip(name, monkeypatch):
    part, reason = BAD[name]
    found = decided(monkeypatch, control=part)
    assert (found["verdict"], found["control_verdict"]) == ("holds", "error")
    reason = reason.format(part="control")
    assert found["numbers"]["error in the control"].startswith(reason)
    assert found["traceback"].startswith("Traceback") and reason in found["traceback"]
    assert found["numbers"]["n"] == 3 and not api.as_expected(found)


def test_both_tracebacks_are_kept(monkeypatch):
    found = decided(monkeypatch, raises(ValueError("one")), raises(ValueError("two")))
    first, second = found["traceback"].split("Traceback (most recent call last):")[1:]
    assert first.strip().endswith("ValueError: one") and second.strip().endswith("ValueError: two")


@pytest.mark.parametrize("control", ["holds", "undecided", "error"])
def test_a_control_that_does_not_flip_is_not_as_expected(control, monkeypatch):
    assert not api.as_expected(decided(monkeypatch, control=gives(Evidence(control))))


def test_where_a_statement_stands_and_whose_it_is(monkeypatch):
    found = decided(monkeypatch)
    assert (found["reference"], found["provenance"]) == ("A paper, Lemma 1", "paper")
    assert found["source"] == "A paper, Lemma 1 (paper)"


def test_an_interrupt_is_none_of_a_claims_business(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        decided(monkeypatch, check=raises(KeyboardInterrupt()))


def test_every_word_has_a_meaning_and_a_colour():
    words = set(get_args(Verdict))
    assert "error" in words and words == set(MEANINGS) and words <= set(COLOURS)
