"""The page as one file that needs no server: all questions whose rows are at hand, and the same modules."""

from __future__ import annotations

import json
import re
from typing import Any

from markupsafe import Markup

from whyconv.errors import UserError
from whyconv.page import assets, catalogue
from whyconv.page.known import Known
from whyconv.page.question import Question
from whyconv.page.shown import address, shown
from whyconv.spec import build

MOST = 60
"""Questions in a file."""
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def saved(question: Question, known: Known) -> str:
    """The file, opened at this question."""
    views = {address(each): _view(each, known) for each in at_hand(question, known)}
    first = address(question)
    data = {"questions": catalogue.questions(), "views": views, "first": first}
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    parts = {
        "policy": POLICY,
        "style": Markup(assets.text("page.css")),
        "data": Markup(text),
        "vega": script(assets.vega()),
        "script": script(bundled()),
    }
    return assets.TEMPLATES.get_template("page.html").render(token="", saved=parts)


def at_hand(question: Question, known: Known) -> list[Question]:
    """This question, and the latest others that have been asked in the folder."""
    wanted = {address(question): question}
    for settings in reversed(known.asked):
        try:
            other = build("study", settings)
        except (UserError, ValueError):  # of another version
            continue
        if isinstance(other, Question) and len(wanted) < MOST:
            wanted.setdefault(address(other), other)
    return list(wanted.values())


def bundled() -> str:
    """Our modules as one: imports between them are dropped, since all is in one scope."""
    parts = []
    for name in assets.MODULES:
        text = re.sub(r"^import [^;]*;$", "", assets.text(name), flags=re.MULTILINE)
        parts.append(re.sub(r"^export ", "", text, flags=re.MULTILINE))
    return "\n".join(parts)


def _view(question: Question, known: Known) -> dict[str, Any]:
    """What a reader elsewhere needs: nothing names a folder of this machine."""
    return {**shown(question, known.rows, None), "picture": question.example()}


def script(text: str) -> Markup:
    """A script that cannot end its element."""
    return Markup(text.replace("</script", "<\\/script").replace("<!--", "<\\!--"))
