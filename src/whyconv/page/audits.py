"""The third tab: an audit of a file that was sent, with its progress and its report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from whyconv.auditing.readers import Asked as About
from whyconv.auditing.readers import read
from whyconv.auditing.run import Progress, audit
from whyconv.errors import UserError
from whyconv.page.desk import Asked, Stopped
from whyconv.page.uploads import IMAGES_FOLDER, Wanted, forget, sent
from whyconv.report import audit_words as words
from whyconv.report.audit_page import render
from whyconv.text import rough_duration

MEMORY = 2.0
"""Gigabytes that the data of a visitor may take."""
FIELDS = {"--label": "“Labels are in”", "--minutes": "“Minutes”"}
"""Fields of the page by the option that they are."""
OPTION = re.compile(r"(?<!\S)--[a-z]")


def prepared(room: Path, wanted: Wanted) -> Callable[[Asked], None]:
    """Read the data now, so that what is wrong is said at once; returns the work that remains."""
    file = sent(room, wanted)
    source = room / IMAGES_FOLDER if wanted.kind == "zip" else file
    names = {str(source): wanted.name, file.name: wanted.name, **FIELDS}
    with _in_words_of_the_page(names):
        dataset = replace(read(source, About(label=wanted.label, memory=MEMORY)), name=wanted.name)

    def work(asked: Asked) -> None:
        def watch(progress: Progress) -> None:
            asked.more["progress"] = progress
            asked.change()
            if asked.stop.is_set():
                raise Stopped

        try:
            if asked.stop.is_set():
                raise Stopped
            with _in_words_of_the_page(names):
                found = audit(dataset, minutes=wanted.minutes, out=room / "rows", watch=watch, memory=MEMORY)
            asked.more["result"] = found
            asked.more["report"] = render(found)
        finally:
            forget(room)

    return work


@contextmanager
def _in_words_of_the_page(names: Mapping[str, str]) -> Iterator[None]:
    """Say what is wrong without paths and options of the command line, which a visitor has not."""
    try:
        yield
    except UserError as error:
        sentence = str(error)
        for ours, theirs in names.items():
            sentence = sentence.replace(ours, theirs)
        raise UserError(without_options(sentence)) from error


def without_options(sentence: str) -> str:
    """The clauses that name no option; where one did, the command that has it."""
    clauses = sentence.rstrip(".").split("; ")
    kept = [clause for clause in clauses if not OPTION.search(clause)]
    if len(kept) == len(clauses):
        return sentence
    return "; ".join(
        [*(kept or ["the page cannot read this data"]), "use whyconv audit, which has options for it."]
    )


def progress(asked: Asked) -> dict[str, Any]:
    """How far an audit is, and its answer so far."""
    told = asked.more.get("progress")
    found = asked.more.get("result") or (told.result if told else None)
    return {
        "title": asked.more.get("title", "Your data"),
        "fraction": told.fraction if told else 0.0,
        "said": f"{told.phase.capitalize()}: about {rough_duration(told.seconds_left)} left"
        if told
        else "Waiting.",
        "lead": list(words.lead(found)) if found else [],
        "savings": [[each.prior, words.saved(each, "×"), words.verdict(each)] for each in found.savings]
        if found
        else [],
    }
