"""Errata: every claim that holds as corrected has one, and it is shown wherever the claim is."""

import json

import pytest

from whyconv import registry
from whyconv.claims.errata import bibtex, markdown, records

CLAIMS = registry.pieces("claim")
CORRECTED = [claim for claim in CLAIMS if claim.expected == "holds as corrected"]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_exactly_the_corrected_claims_have_an_erratum(claim):
    assert (claim.erratum is not None) == (claim.expected == "holds as corrected")


def test_all_are_listed_with_sources(whyconv):
    done = whyconv("errata", "--json")
    found = json.loads(done.stdout)
    assert [each["claim"] for each in found] == [claim.name for claim in CORRECTED]
    for each in found:
        assert all(each[part] for part in ("reference", "printed", "corrected", "why", "breaks", "command"))
        assert each["printed"] != each["corrected"]
    assert "log^2 n) neurons" in whyconv("errata", "malach.cor5").stdout
    assert "no errata" in whyconv("errata", "lahoti").stdout
    assert whyconv("errata", "--json", "--bibtex").returncode == 2


def test_a_misprint_of_the_text_at_hand_is_no_error_in_the_paper(whyconv):
    kinds = {each["claim"]: each["kind"] for each in records(CORRECTED)}
    assert [name for name, kind in kinds.items() if kind == "misprint of the text at hand"] == [
        "malach.thm4-eta"
    ]
    assert {*kinds.values()} == {"misprint of the text at hand", "error in the paper"}
    for words in ((), ("--markdown",), ("--bibtex",)):
        said = " ".join(whyconv("errata", "malach.thm4-eta", *words).stdout.split()).lower()
        assert "misprint of the text at hand" in said and "error in the paper" not in said
        assert "error in the paper" in whyconv("errata", "malach.thm4", *words).stdout.lower()


def test_they_can_be_cited(whyconv):
    found = records(CORRECTED)
    assert markdown(found).count("## ") == len(found) == len(CORRECTED)
    text = bibtex(found, "9")
    assert text.count("@misc{") == len(found) + 2 and text.count("{") == text.count("}")
    assert text.count("year = {2021}") == 2 and "eprint = {2010.01369}" in text
    assert "crossref = {malach}" in text and "whyconv 9" in text


def test_list_shows_what_is_printed(whyconv):
    assert "printed: For k = O(log n)" in whyconv("list", "malach.cor5").stdout
