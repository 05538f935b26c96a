"""What may be asked, as data for the page, and the way from an address to a question."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from whyconv.errors import UserError
from whyconv.page.question import MOST, NETWORKS, PER_CLICK, Knob, Question, written
from whyconv.page.questions import every
from whyconv.page.shown import address
from whyconv.report import theme

TABS = ("break", "worth", "audit")
PLAIN = ("tab", "task")
"""Parts of an address that are no settings."""


def asked(given: Mapping[str, str]) -> Question:
    """The question of an address; refuses any name or value that is not among the choices."""
    kinds = {name.partition(".")[2]: kind for name, kind in every().items()}
    task = given.get("task", next(iter(kinds)))
    if task not in kinds:
        raise UserError(f"task = {task} was given; take one of {', '.join(kinds)}.")
    if (tab := given.get("tab", TABS[0])) not in TABS:
        raise UserError(f"tab = {tab} was given; take one of {', '.join(TABS)}.")
    return kinds[task].asked({name: value for name, value in given.items() if name not in PLAIN})


@cache
def questions() -> dict[str, Any]:
    """All questions, their controls and stories, and how charts look in the dark."""
    kinds = every()
    return {
        "questions": [_question(name, kind) for name, kind in kinds.items()],
        "stories": [
            {"title": story.title, "says": story.says,
             "address": address(kind.asked({n: written(v) for n, v in story.settings.items()}))}
            for kind in kinds.values() for story in kind.stories
        ],
        "most_seeds": MOST,
        "more_seeds": PER_CLICK,
        "dark": {"config": theme.config(dark=True), "colours": theme.DARK},
    }  # fmt: skip


def _question(name: str, kind: type[Question]) -> dict[str, Any]:
    size = Knob("m", "Examples m, up to", "The largest number of training examples.")
    return {
        "task": name.partition(".")[2],
        "label": kind.label,
        "rule": kind.rule,
        "networks": [[name, NETWORKS[name]] for name in kind.asked({}).contestants()],
        "source": kind.reference,
        "seeds": kind.model_fields["seeds"].default,
        "knobs": [_knob(kind, knob) for knob in (*kind.knobs, size)],
    }


def _knob(kind: type[Question], knob: Knob) -> dict[str, Any]:
    values = kind.choices(knob.name)
    words = knob.words or {}
    return {
        "name": knob.name,
        "label": knob.label,
        "help": knob.help,
        "breaks": knob.breaks,
        "shape": "switch" if values == (False, True) else "choice" if words else "slider",
        "values": [written(value) for value in values],
        "words": [words.get(value, written(value)) for value in values],
        "default": written(kind.model_fields[knob.name].default),
    }
