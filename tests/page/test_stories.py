"""The six stories: addresses, and the box of the headline that each is about."""

from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the page needs whyconv[page]")

from whyconv.page import catalogue, shown
from whyconv.page.questions import ALL
from whyconv.page.shown import NAMES

KINDS: list[Any] = list(ALL)
TOLD = [(kind, story) for kind in KINDS for story in kind.stories]
POINTS = {
    "Sharing is worth a factor of k": "weight sharing",
    "A signal that stays needs no sharing": "weight sharing",
    "Find it anywhere": "weight sharing",
    "Looking at neighbours is worth a factor": "locality",
    "Max-pooling ignores what does not matter": "max-pooling",
    "Permute the pixels and the CNN is no better than an FCN": "CNN against FCN",
}
"""The box that each title speaks of."""


def test_there_are_six_stories_and_each_is_an_address():
    told = catalogue.questions()["stories"]
    assert len(told) == 6
    for story in told:
        settings = dict(part.split("=") for part in story["address"].split("&"))
        assert shown.address(catalogue.asked(settings)) == story["address"]
        assert story["says"].count(".") == 1


def marked(question):
    return [line["prior"] for line in shown.headline(question, question.table([], {})) if line["point"]]


@pytest.mark.parametrize("kind, story", TOLD, ids=lambda each: getattr(each, "title", ""))
def test_the_headline_marks_what_a_story_is_about(kind, story):
    arms = {step.prior: step[1:] for step in kind.priors}
    assert set(arms[story.point]) <= set(kind().contestants()), "both networks run"
    told = kind(**story.settings)
    assert marked(told) == [NAMES.get(story.point, story.point)] == [POINTS[story.title]]
    assert shown.shown(told, {}, None)["story"] == story.title


@pytest.mark.parametrize("kind, story", TOLD, ids=lambda each: getattr(each, "title", ""))
def test_a_story_stays_one_with_more_seeds_and_ends_with_another_setting(kind, story):
    assert marked(kind(**{**story.settings, "seeds": 30})) == [POINTS[story.title]]
    other = kind(
        **{**story.settings, "m": next(m for m in kind.choices("m") if m != kind(**story.settings).m)}
    )
    assert marked(other) == [] and shown.shown(other, {}, None)["story"] == ""


def test_no_network_stands_beside_the_one_before_it_without_a_line():
    """FCN, LCN, CNN, ConvPool: each is compared with the one before it, where both run."""
    for kind in KINDS:
        arms = list(kind().contestants())
        pairs = {(step.without, step.given) for step in kind.priors}
        ladder = [arm for arm in ("FCN", "LCN", "CNN", "ConvPool") if arm in arms]
        assert pairs >= set(pairwise(ladder)), kind.name
        assert len({step.prior for step in kind.priors}) == len(kind.priors)


def test_a_note_stands_in_the_box_that_it_is_about():
    def says(**given):
        question = catalogue.asked(given)
        return {line["prior"]: line["says"] for line in shown.headline(question, question.table([], {}))}

    small = says(task="digits", permuted="true")
    assert [prior for prior, text in small.items() if text] == ["locality"]
    assert not any(says(task="digits").values())
    assert says(task="signal")["ConvPool against CNN"] == "They differ in filters and training, too."


def test_no_box_speaks_of_max_pooling_where_there_is_none():
    for kind in KINDS:
        if "pooling" not in kind.names():
            continue
        question = kind(pooling="average")
        told = {line["prior"]: line for line in shown.headline(question, question.table([], {}))}
        assert told["max-pooling"]["worth"] == "nothing to compare", kind.name
        assert told["ConvPool against CNN"]["state"] == "open"
