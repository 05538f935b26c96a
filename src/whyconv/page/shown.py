"""What a reader sees of a question: headline, figure, numbers, command. All of it is made here, from rows."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from math import isfinite, isnan
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from whyconv.lazy import alt, pd
from whyconv.measure.intervals import summarise
from whyconv.page.open_ends import in_words
from whyconv.page.question import CROWNED, TOGETHER, USUAL, Question
from whyconv.report import theme
from whyconv.report.charts import finish
from whyconv.report.embedding import panels
from whyconv.report.layers import Frame, records
from whyconv.studies import Point
from whyconv.studies.answers import Answer
from whyconv.studies.grid import compared
from whyconv.studies.worth import Step
from whyconv.trial import Row

SAME_POINTS, SAME_FACTOR = 0.05, 1.5
"""A prior makes no difference if intervals lie within 5 points at every size, or within a factor of 1.5."""
NAMES = {TOGETHER: "CNN against FCN", CROWNED: "ConvPool against CNN"}
"""What the headline calls a prior, if not by its name."""
ALIKE = {
    "state": "same",
    "worth": "nothing to compare",
    "says": "Both now take the average, so there is nothing to compare.",
}
DATA = {"seed": "runs", "mean": "means", "start": "strips"}
"""Names of the chart's tables, by a column that only they have."""


def shown(question: Question, rows: Mapping[str, Row], out: Path | None) -> dict[str, Any]:
    """Everything on the page that follows from the settings and the rows."""
    points = planned(question)
    keys = {point.trial.key for point in points}
    here = {key: row for key in keys if (row := rows.get(key)) is not None}  # others may come meanwhile
    table = question.table(points, here)
    means = summarise(table, ["arm", "m"], question.outcome) if len(table) else pd.DataFrame()
    return {
        "name": question.name,
        "address": address(question),
        "heading": question.heading(),
        "about": question.about(),
        "story": told.title if (told := question.story()) else "",
        "headline": headline(question, table),
        "chart": chart(question, table, means),
        "table": numbers(question, means),
        "command": command(question, out),
        "done": len(here),
        "total": len(keys),
        "failed": sum(row.status != "ok" for row in here.values()),
        "seeds": question.seeds,
    }


@lru_cache(maxsize=64)
def planned(question: Question) -> list[Point]:
    return question.plan({})


def address(question: Question) -> str:
    """The part of an address that says all of this, without the token."""
    return urlencode({"tab": "break", "task": question.name.partition(".")[2], **question.stated()})


def command(question: Question, out: Path | None) -> str:
    """The command that makes the same rows, in a folder of this machine if one is named."""
    words = ["whyconv", "run", question.name]
    for name, value in question.stated().items():
        words += ["--seeds", value] if name == "seeds" else ["--set", f"{name}={value}"]
    return shlex.join([*words, *(["--out", str(out)] if out else [])])


# -- the headline --------------------------------------------------------------------------------------


def headline(question: Question, table: pd.DataFrame) -> list[dict[str, Any]]:
    """For every prior what it is worth, or that it takes more seeds to say; a story is about one of them."""
    answers, story = question.answers(table), question.story()
    lines = []
    for step in question.priors:
        found = [each for each in answers if each.prior == step.prior]
        line = ALIKE if question.alike(step) else _line(found, partial(_flat, question, table, step))
        says = f"{in_words(line['says'])} {question.note(step)}".strip()
        said = {"worth": in_words(line["worth"]), "says": says}
        about = {
            "prior": NAMES.get(step.prior, step.prior),
            "point": story is not None and story.point == step.prior,
        }
        lines.append({**about, "state": line["state"], **said})
    return lines


def _line(found: list[Answer], flat: Callable[[], bool]) -> dict[str, str]:
    """The first answer that says something; ``flat``: whether there is no difference at any size."""
    for answer in found:
        if _same(answer) and ((everywhere := flat()) or answer.kind == "factor"):
            where = f"Within {100 * SAME_POINTS:.0f} points at every m. " if everywhere else ""
            within = f"within {SAME_FACTOR:g}×: " if answer.kind == "factor" else ""
            return {"state": "same", "worth": f"{within}no difference", "says": where + answer.sentence}
        if answer.helps is not None and not _same(answer) and not _hardly(answer):
            state = "helps" if answer.helps else "costs"
            return {"state": state, "worth": _worth(answer), "says": answer.sentence}
    so_far = f"So far: {found[0].sentence}" if found else ""
    return {"state": "open", "worth": "needs more seeds", "says": so_far}


def _flat(question: Question, table: pd.DataFrame, step: Step) -> bool:
    """Whether the errors of both networks are alike at every size."""
    if table.empty:
        return False
    table = question.settled(table, step)
    places = ({"m": m} for m in question.sizes())
    apart = (compared(table, step, question.outcome, question.on(), place) for place in places)
    return all(each is not None and _same(each) for each in apart)


def _worth(answer: Answer) -> str:
    """``20 [12, 32]× fewer examples``, ``6 [4, 8] points more error at m = 40``."""
    if answer.kind == "factor":
        return f"{answer.size.replace(' x', '×')} {'fewer' if answer.helps else 'more'} {answer.unit}"
    return f"{answer.size} {'less' if answer.helps else 'more'} error {answer.range}"


def _hardly(answer: Answer) -> bool:
    """Whether all that is known is a limit, and one so near to no effect that it says nothing."""
    bound = answer.low if answer.low > 0 else answer.high
    return answer.kind == "factor" and isnan(answer.value) and 1 / SAME_FACTOR <= bound <= SAME_FACTOR


def _same(answer: Answer) -> bool:
    """Whether the interval lies so near to no effect that none is worth speaking of."""
    if answer.kind == "factor":
        return 1 / SAME_FACTOR <= answer.low <= answer.high <= SAME_FACTOR
    return -SAME_POINTS <= answer.low <= answer.high <= SAME_POINTS


# -- the figure ----------------------------------------------------------------------------------------


def chart(question: Question, table: pd.DataFrame, means: pd.DataFrame) -> dict[str, Any]:
    """The chart's definition, which rows do not change, and its tables, which they do."""
    tables: dict[str, list[Any]] = {name: [] for name in DATA.values()}
    if len(table):
        runs, means = (each.assign(m=each["m"].astype(float)) for each in (table, means))
        tables = {name: records(made) for name, made in _frame(question).tables(runs, means).items()}
    return {**_definition(question.model_copy(update={"seeds": USUAL})), "data": tables}


def _frame(question: Question) -> Frame:
    arms = list(question.contestants())
    return Frame(
        x="m", y=question.outcome, arm="arm", x_title="training examples m", y_title="test error", log_x=True,
        ticks=[float(m) for m in question.sizes()], domain=question.domain(), arms=arms,
        styles=theme.styles(arms), width=theme.WIDTH,
    )  # fmt: skip


@lru_cache(maxsize=64)
def _definition(question: Question) -> dict[str, Any]:
    """The Vega-Lite definition for the page and for print, with names in place of tables.

    Making one takes longer than all else in a view, so the number of seeds, which it does not have, is left
    alone.
    """
    frame = _frame(question)
    lines = [{"arm": arm, "m": float(m), question.outcome: 0.5, "seed": 0}
             for arm in frame.arms for m in question.sizes()]  # fmt: skip
    table = pd.DataFrame(lines)
    panel = frame.panel(table, summarise(table, ["arm", "m"], question.outcome))
    chart = alt.layer(*_target(question.reach), panel)
    sized = chart.properties(width=theme.WIDTH, height=theme.HEIGHT)
    made = finish(sized, question.heading(), frame).to_dict()
    _rename(made, {name: _name(values) for name, values in made.pop("datasets").items()})
    (own,) = panels(made)
    name = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:16]
    _one_legend(made)
    return {"id": name, "spec": own, "print": made}


def _one_legend(part: Any) -> None:
    """Let colours, shapes and dashes share a legend: Vega warns of one that is there and not there."""
    if isinstance(part, dict):
        dash = part.get("strokeDash")
        if isinstance(dash, dict) and dash.get("legend", dash) is None:
            del dash["legend"]
        for each in part.values():
            _one_legend(each)
    elif isinstance(part, list):
        for each in part:
            _one_legend(each)


def _target(reach: float) -> list[Any]:
    """The error at which factors are read: a thin dashed line with its label; it has no table."""
    base = alt.Chart(alt.sequence(1)).encode(
        y=alt.YDatum(reach, axis=alt.Axis(grid=True))  # the first axis decides on the grid of all
    )
    text = f"test error {reach:g}, where factors are read"
    return [
        base.mark_rule(color=theme.GREY, strokeDash=[3, 3], aria=False),
        base.mark_text(align="left", baseline="top", dx=6, dy=4, text=text, fontSize=11).encode(
            x=alt.value(0)
        ),
    ]


def _name(values: list[Any]) -> str:
    return next(name for column, name in DATA.items() if column in values[0])


def _rename(part: Any, names: Mapping[str, str]) -> None:
    """Use names of ours for the tables of a definition."""
    if isinstance(part, dict):
        if part.get("data", {}).get("name") in names:
            part["data"] = {"name": names[part["data"]["name"]]}
        for each in part.values():
            _rename(each, names)
    elif isinstance(part, list):
        for each in part:
            _rename(each, names)


# -- the numbers ---------------------------------------------------------------------------------------


def numbers(question: Question, means: pd.DataFrame) -> dict[str, Any]:
    """The means with their intervals, one line per network: what a screen reader reads."""
    sizes = question.sizes()
    lines = []
    for arm in question.contestants():
        cells = [arm]
        for m in sizes:
            here = means[(means["arm"] == arm) & (means["m"] == m)] if len(means) else means
            cells.append(_cell(here.iloc[0]) if len(here) else "–")
        lines.append(cells)
    return {"head": ["network", *(f"m = {m}" for m in sizes)], "lines": lines}


def _cell(line: Any) -> str:
    """A mean error in percent with its interval."""
    mean = f"{100 * line['mean']:.1f} %"
    if not isfinite(line["high"]):
        return mean
    return f"{mean} [{100 * line['low']:.1f}, {100 * line['high']:.1f}]"
