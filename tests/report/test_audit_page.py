"""The page of an audit: self-contained, safe, complete, for results of every kind."""

import re
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from audit_results import digits, results
from test_html_report import EVIL, MARK, Outline

from whyconv.report.audit_page import GLOSSARY, MODELS, PRIORS, render, write

RESULTS = results()
QUIET = {name: replace(result, curves=()) for name, result in RESULTS.items()}
"""Without the chart, which takes most of the time."""


@pytest.fixture(scope="module")
def text():
    return render(digits(), "whyconv audit digits1d.npz --minutes 20")


def test_it_nests_and_loads_nothing(text):
    found = Outline(text)
    identifiers = [attrs["id"] for _, attrs in found.found if "id" in attrs]
    assert len(identifiers) == len(set(identifiers))
    addresses = [attrs[key] for _, attrs in found.found for key in ("src", "href") if key in attrs]
    assert addresses and all(address.startswith(("data:", "#")) for address in addresses)
    assert "url(" not in "".join(re.findall(r"<style>(.*?)</style>", text, re.S))
    assert len(text) < 1_500_000


def test_the_answers_come_in_the_order_of_the_questions(text):
    words = " ".join(" ".join(Outline(text).words).split())
    places = [
        words.index(each)
        for each in (
            "The order of the features matters here",
            "Does the order of features matter?",
            "What would save examples, at an error of",
            "Which model is best?",
            "Warnings",
            "Learning curves",
            "Checks of the audit itself",
            "What this means",
        )
    ]
    assert places == sorted(places)
    for piece in (
        "Together they need 276 examples instead of 3,750.",
        "4.3× [3.3, 5.4]",
        "what matters lies within 9 of 40 steps",
        ".10 [.093, .11]",
        "7,500 would give about",
        "FCN still learning",
        "whyconv audit digits1d.npz --minutes 20",
        *GLOSSARY,
    ):
        assert piece in words


def test_two_lines_explain_the_words_and_every_model_and_prior_is_explained(text):
    words = " ".join(Outline(text).words)
    assert len(GLOSSARY) == 2
    for arm in digits().arms:
        assert MODELS[arm.name] in words
    for title, means in PRIORS.values():
        assert title in words and means in words


@pytest.mark.parametrize("name", QUIET)
def test_every_kind_of_result_has_a_page(name):
    page = render(QUIET[name])
    found = Outline(page)
    words = " ".join(found.words)
    assert "None" not in words and " nan" not in words
    for saving in QUIET[name].savings:
        assert saving.verdict in words


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("costs", "Locality, sharing and pooling cost examples."),
        ("no difference", "Locality, sharing and pooling make no difference beyond a factor of 1.5."),
        ("digits", "Locality and sharing save examples; pooling is undecided."),
        ("no difference", "No use of the order of the features was seen"),
        ("noise", "Nothing else was judged: no network is better than the majority."),
        ("at least", "at least 31.0×"),
    ],
)
def test_what_is_said_first(name, sentence):
    assert sentence in " ".join(Outline(render(QUIET[name])).words)


def test_intervals_are_drawn_where_they_lie(text):
    """On the axis of factors 1 is in the middle, and a saving is to the right of it."""
    places = [float(each) for each in re.findall(r'<b style="left:([\d.]+)%', text)]
    factors, errors = places[:4], places[4:]
    assert all(place > 50 for place in factors)
    assert errors == sorted(errors)
    costs = [float(each) for each in re.findall(r'<b style="left:([\d.]+)%', render(QUIET["costs"]))][:4]
    assert all(place < 50 for place in costs)


def test_a_reference_that_is_better_than_every_network_is_first():
    found = re.findall(r'<li class="(\w+)"><span class="name">([^<]+)<', render(QUIET["table"]))
    assert found[:2] == [("reference", "forest"), ("best", "FCN")]


def test_a_check_that_failed_is_said_to_have():
    page = render(QUIET["failed check"])
    assert '<span class="badge fails">failed</span>' in page and "not made" in page and "undecided" in page


def test_filters_are_shown():
    shown = np.random.default_rng(0).standard_normal((8, 1, 9, 1))
    page = render(replace(QUIET["digits"], filters={"CNN + max": (shown, "locality 0.93")}))
    assert "What the networks look for" in page and "data:image/svg+xml" in page
    assert "What the networks look for" not in render(QUIET["digits"])


def test_several_audits_are_on_one_page_one_after_another():
    few = replace(QUIET["digits"], arms=QUIET["digits"].arms[:2])
    page = render([digits(), digits(), few])
    found = Outline(page)
    identifiers = [attrs["id"] for _, attrs in found.found if "id" in attrs]
    assert len(identifiers) == len(set(identifiers)) and page.count("<h1>") == 3
    assert page.count("What this means, and what it does not") == 1
    assert " · FCN, LCN</p>" in page, "what tells them apart"


def evil(value):
    """The same result with hostile words in place of every text but verdicts."""
    if isinstance(value, str):
        return EVIL
    if isinstance(value, tuple):
        return tuple(evil(each) for each in value)
    if is_dataclass(value):
        kept = {"verdict", "metric", "grid", "prior"}
        return replace(
            value,
            **{each.name: evil(getattr(value, each.name)) for each in fields(value) if each.name not in kept},
        )
    return value


def test_everything_given_is_escaped():
    page = render(replace(evil(digits()), curves=()), EVIL)
    Outline(page)
    assert MARK in page
    assert f"<img src=x {MARK}" not in page and "<script>alert" not in page


def test_it_is_written_whole(tmp_path):
    path = write(QUIET["digits"], tmp_path / "audit.html")
    assert path.read_text("utf-8") == render(QUIET["digits"])
    assert [each.name for each in tmp_path.iterdir()] == ["audit.html"]
