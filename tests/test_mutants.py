"""The lists of mutants are up to date: what they break stands in the code once, and what notices is there."""

import pytest

from mutants import CHECKED, PACKAGE, ROOT, TESTED, page
from whyconv import api


@pytest.mark.parametrize("mutant", [*TESTED, *CHECKED], ids=lambda mutant: mutant.word or mutant.file)
def test_a_mutant_can_be_made(mutant):
    assert (PACKAGE / mutant.file).read_text("utf-8").count(mutant.old) == 1, mutant
    assert mutant.new != mutant.old


def test_what_must_notice_is_there():
    assert all((ROOT / mutant.noticed_by).is_file() for mutant in TESTED)
    assert all(api.chosen_claims(name) for mutant in CHECKED for name in mutant.noticed_by.split())


def test_the_page_of_planted_errors_names_what_survives():
    found = {mutant: ("SURVIVED" if number == 1 else "red", 1.0) for number, mutant in enumerate(CHECKED)}
    text, count = page(found), len(CHECKED)
    assert f"Noticed: {count - 1} of {count}, 18 before. Not noticed: {CHECKED[1].word}." in text
    assert text.count("| reported | red | red |") == 1 and text.count("| reported | survived | red |") == 32
    assert text.count("| new | red | red |") == text.count("| new | survived | red |") == 17
    assert text.count("**SURVIVED**") == 1


def test_the_page_names_every_planted_error_and_what_became_of_it():
    text = (ROOT / "docs" / "planted.md").read_text("utf-8")
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in text.splitlines()}
    survived = {mutant for mutant in CHECKED if "**" in lines[mutant.word]}
    assert page({mutant: ("SURVIVED" if mutant in survived else "red", 1.0) for mutant in CHECKED}) == text
