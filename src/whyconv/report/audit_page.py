"""The page of an audit: the first screen in words that need no paper, then curves, controls and models.

The result is a :class:`whyconv.auditing.result.Result`; this room does not import that one. No example of the
data is on the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from whyconv.lazy import alt, pd
from whyconv.report import audit_words as words
from whyconv.report import theme
from whyconv.report.charts import finish, note, places
from whyconv.report.embedding import bundle
from whyconv.report.figures import drawn
from whyconv.report.filters_picture import picture
from whyconv.report.html import POLICY, TEMPLATES, _resource, _script
from whyconv.report.layers import Frame
from whyconv.runner.folder import as_user_error, write_whole
from whyconv.text import count, duration

if TYPE_CHECKING:
    from whyconv.auditing.result import Arm, Result, Saving

PRIORS = {
    "locality": ("Locality", "units look at neighbouring features only, through a window"),
    "sharing": ("Sharing", "the same filters are used at every place"),
    "pooling": ("Pooling", "of many places only the strongest response counts, wherever it is"),
    "together": ("Together", "all three, against a network that has none of them"),
}
MODELS = {
    "FCN": "fully connected: every unit sees every feature",
    "LCN": "local: windows, each with filters of its own",
    "CNN": "convolutional: windows with the same filters everywhere",
    "LCN + max": "local, and the largest of neighbouring windows counts",
    "CNN + max": "convolutional, and the largest of neighbouring windows counts",
    "CNN + global max": "convolutional, and the largest of all windows counts",
    "bag": "blind to order: every feature by itself, the largest counts",
    "LCN + average": "local, and neighbouring windows are averaged",
    "CNN + average": "convolutional, and neighbouring windows are averaged",
    "CNN + global average": "convolutional, and all windows are averaged",
    "majority": "always the most frequent class",
    "mean": "always the mean",
    "logistic": "a linear model",
    "linear": "a linear model",
    "ridge": "a linear model",
    "forest": "a random forest",
}
ANSWERS = {"matters": "Yes", "not seen": "Not seen", "not judged": "Not judged"}
KINDS = {
    **{"saves": "holds", "costs": "fails", "no difference": "consistent", "undecided": "undecided"},
    **{"matters": "holds", "not seen": "vacuous", "not judged": "undecided"},
}
"""The tone of a badge: that of a verdict of the report."""
CURVES = "Error against training examples"
FILTERS = "The strongest filters of the first layer"
SEEN = (
    "The best network and the fully connected one after the first round: red is positive, blue negative "
    "(three channels have their own colours). Locality is 1 for a filter of one place, 0 for one that weighs "
    "all alike."
)
NARROWEST = 4.0
"""The axis of factors reaches at least from a quarter to four."""
GLOSSARY = (
    "A factor of 4 means: with this prior a quarter of the examples gives the same error. In brackets is "
    "its 95 % "
    "interval; a verdict needs an interval without 1, corrected for three questions asked at once.",
    "Fully connected: a network that treats features in any order alike. A round: one new split of your "
    "data into "
    "training and test, with every network trained anew at every size.",
)


@dataclass(frozen=True)
class Bar:
    """A value with its interval on an axis from 0 to 100."""

    label: str
    about: str
    text: str
    at: float | None
    start: float
    end: float
    tone: str = ""
    open_start: bool = False
    open_end: bool = False


def write(results: Result | Sequence[Result], path: str | Path, command: str = "") -> Path:
    """Write the page of one audit or several to ``path``, whole or not at all, and return the path.

    Takes about 3 s.
    """
    path = Path(path)
    content = render(results, command).encode("utf-8", "replace")
    with as_user_error(path):
        write_whole(path, content)
    return path


def render(results: Result | Sequence[Result], command: str = "") -> str:
    """The page as HTML."""
    several = results if isinstance(results, Sequence) else [results]
    pages = []
    for number, each in enumerate(several):
        name = f"curves-{number + 1}" if number else "curves"
        figure = drawn(CURVES, curves(each), name, CURVES) if each.curves else None
        learned = {FILTERS: picture(dict(each.filters))} if each.filters else {}
        pages.append({**_said(each), "figure": figure, "learned": learned, "name": name})
    return TEMPLATES.get_template("audit.html").render(
        pages=pages,
        command=command,
        policy=POLICY,
        dark={"config": theme.config(dark=True), "colours": theme.DARK},
        style=Markup(_resource("page.css") + _resource("audit.css")),
        script=_script(_resource("page.js")),
        vega=_script(bundle()) if any(page["figure"] for page in pages) else "",
    )


def _said(result: Result) -> dict[str, Any]:
    """Everything that the templates show, finished."""
    metric = words.METRICS.get(result.data.metric, result.data.metric)
    factors = [_factor(each, _reach(result.savings)) for each in result.savings]
    return {
        "result": result,
        "about": words.data(result.data),
        "metric": metric,
        "took": f"{duration(result.seconds)}, {count(result.rounds, 'round')}",
        "lead": list(words.lead(result)),
        "answer": ANSWERS[result.order.verdict],
        "order": words.order(result.order),
        "savings": [
            (
                saving,
                *PRIORS.get(saving.prior, (saving.prior, "")),
                bar,
                words.verdict(saving),
                words.traded(saving),
                words.at_full(result, saving),
            )
            for saving, bar in zip(result.savings, factors, strict=True)
        ],
        "compared_at": words.compared_at(result),
        "marks": _marks(_reach(result.savings)),
        "window": words.window(result),
        "models": _models(result),
        "more": words.more_data(result.forecast) if result.forecast else "",
        "checks": [(each, words.level(each.error), _check(each)) for each in result.controls],
        "arms": ", ".join(each.name for each in result.arms),
        "seen": SEEN,
        "glossary": GLOSSARY,
        "kinds": KINDS,
        "percents": result.data.metric in ("error", "balanced"),
    }


def _check(control: Any) -> str:
    """The figures of a control."""
    if control.factor is not None:
        return f"{words.times(control.factor)}× {words.span(control.low, control.high)}"
    return words.level(control.error) if control.error is not None else ""


# -- bars ---------------------------------------------------------------------------------------------


def _reach(savings: Sequence[Saving]) -> float:
    """How far the axis of factors reaches in both directions, at least to four."""
    ends = [
        end for each in savings for end in (each.factor, each.low, each.high) if end and math.isfinite(end)
    ]
    widest = max([NARROWEST, *(max(end, 1 / end) for end in ends)])
    return 2.0 ** math.ceil(math.log2(min(widest, 4096)))


def _marks(reach: float) -> list[tuple[float, str]]:
    """The ends of the axis of factors, and 1."""
    half = f"{1 / reach:.2g}".lstrip("0") if reach <= 8 else f"1/{reach:g}"
    return [(0.0, half), (50.0, "1"), (100.0, f"{reach:g}")]


def _factor(saving: Saving, reach: float) -> Bar:
    def place(value: float) -> float:
        return 50 + 50 * max(-1.0, min(1.0, math.log(max(value, 1e-9)) / math.log(reach)))

    low, high = saving.low, saving.high
    return Bar(
        label=saving.prior,
        about="",
        text=words.saved(saving, "×"),
        at=None if saving.factor is None else place(saving.factor),
        start=0.0 if low is None else place(low),
        end=100.0 if high is None else place(high),
        tone=KINDS.get(saving.verdict, "undecided"),
        open_start=low is None,
        open_end=high is None,
    )


def _models(result: Result) -> list[Bar]:
    """Networks and references by error, the best first."""
    every = [(each, True) for each in result.arms] + [(each, False) for each in result.references]
    most = max(
        [abs(end) for each, _ in every for end in (each.error, each.high) if end is not None], default=1
    )
    if result.data.metric in ("error", "balanced"):
        most = min(1.0, most)
    every.sort(key=lambda pair: pair[0].error)
    return [_model(each, most or 1.0, own, each.name == result.best) for each, own in every]


def _model(arm: Arm, most: float, own: bool, best: bool) -> Bar:
    def place(value: float) -> float:
        return 100 * max(0.0, min(1.0, value / most))

    known = arm.low is not None and arm.high is not None
    return Bar(
        label=arm.name,
        about=MODELS.get(arm.name, ""),
        text=" ".join(filter(None, (words.level(arm.error), words.between(arm.low, arm.high)))),
        at=place(arm.error),
        start=place(arm.low) if known and arm.low is not None else place(arm.error),
        end=place(arm.high) if known and arm.high is not None else place(arm.error),
        tone="best" if best else "network" if own else "reference",
    )


# -- the chart ----------------------------------------------------------------------------------------


def curves(result: Result) -> alt.TopLevelMixin:
    """The learning curves: mean error of every arm against the number of training examples."""
    table = pd.DataFrame(list(result.curves))
    if table.empty:
        return note(CURVES, "There are no whole rounds yet.")
    means = table.rename(columns={"error": "mean", "rounds": "count"}).assign(std=0.0)
    means["high"] = means["high"].astype(float).fillna(math.inf)
    means["low"] = means["low"].astype(float).fillna(-math.inf)
    arms = list(dict.fromkeys(means["arm"]))
    controls = [arm for arm in arms if arm not in MODELS]
    top = float(means["mean"].max())
    domain = (
        (0.0, min(1.0, math.ceil(20 * top) / 20)) if result.data.metric in ("error", "balanced") else None
    )
    metric = words.METRICS.get(result.data.metric, result.data.metric)
    frame = Frame(
        x="m", y="mean", arm="arm", x_title="training examples", y_title=f"test {metric}", log_x=True,
        ticks=places(means["m"]), domain=domain, arms=arms, styles=theme.styles(arms, controls),
        width=theme.WIDTH,
    )  # fmt: skip
    runs = means.head(0).assign(seed=0)
    chart = frame.panel(runs, means)
    return finish(chart.properties(width=theme.WIDTH, height=theme.HEIGHT), CURVES, frame)
