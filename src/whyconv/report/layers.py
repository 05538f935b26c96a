"""The layers of a chart: runs, intervals, means, and a rule that follows the pointer."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from whyconv.lazy import alt, pd
from whyconv.report.theme import Style

Domain = tuple[float, float]


@dataclass(frozen=True)
class Frame:
    """What the panels of a figure share: columns, titles, ticks, y domain, and the arms with their styles."""

    x: str
    y: str
    arm: str
    x_title: str
    y_title: str
    log_x: bool
    ticks: Sequence[float]
    domain: Domain | None
    arms: Sequence[str]
    styles: Sequence[Style]
    width: int
    seed: str = "seed"
    signed: bool = False
    log_y: bool = False
    facet: str | None = None
    number: int = 0
    """Of the panel: selections need a name of their own in each panel."""

    def panel(self, runs: pd.DataFrame, means: pd.DataFrame) -> Any:
        """Runs, faint, then intervals, then means; single runs have tooltips, too."""
        tables = self.tables(runs, means)
        each = alt.Chart(inline(tables["runs"])).encode(
            x=self.along_x(), y=self.along_y(field(self.y)), color=self.colour()
        )
        mean = alt.Chart(inline(tables["means"])).encode(
            x=self.along_x(), y=self.along_y("mean"), color=self.colour()
        )
        single = [self.tip(self.arm, "arm", "nominal"), self.tip(self.x, self.x_title)]
        single += [self.tip(self.y, self.y_title), self.tip(self.seed, "seed", "ordinal")]
        return alt.layer(
            each.mark_line(strokeWidth=1, aria=False).encode(
                detail=alt.Detail(field=field(self.seed), type="nominal"),
                strokeOpacity=self.fade(alt.StrokeOpacityValue, 0.22, 0.03),
            ),
            self._interval(mean),
            mean.mark_line(strokeWidth=2.25).encode(
                strokeDash=self.dash(), strokeOpacity=self.fade(alt.StrokeOpacityValue, 1, 0.12)
            ),
            mean.mark_point(filled=True, size=60, opacity=1).encode(
                shape=self.shape(), fillOpacity=self.fade(alt.FillOpacityValue, 1, 0.12)
            ),
            self._pointer(tables["strips"]),
            each.mark_circle(size=16, opacity=1, aria=False).encode(
                fillOpacity=self.fade(alt.FillOpacityValue, 0.35, 0.03), tooltip=single
            ),
        )

    def tables(self, runs: pd.DataFrame, means: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """The rows that :meth:`panel` draws: single runs, means, and the strips under the pointer."""
        columns = [self.arm, self.x, self.y, self.seed, *([self.facet] if self.facet else [])]
        texts = means.assign(
            text=[_words(*line) for line in means[["mean", "low", "high", "count"]].itertuples(index=False)]
        )
        return {
            "runs": few_seeds(runs, self.seed)[columns],
            "means": _drawable(means, self.domain),
            "strips": self._strips(texts),
        }

    def fade(self, channel: Any, full: float, faint: float) -> Any:
        """Full where the arm is picked in the chart's own legend or in the page's; faint elsewhere.

        ``channel`` is the opacity of stroke or fill; opacity of the mark makes a PDF three times larger.
        """
        arm = self.arm.replace("\\", "\\\\").replace("'", "\\'")
        shown = f"!length(shown) || indexof(shown, datum['{arm}']) >= 0"
        test = {"and": [{"param": f"picked{self.number}"}, shown]}
        return channel(value=faint, condition={"test": test, "value": full})

    def _interval(self, mean: Any) -> Any:
        """A band along a curve, bars for one or two values of x."""
        spread = mean.encode(y=self.along_y("low"), y2="high")
        if len(self.ticks) > 2:
            fade = self.fade(alt.FillOpacityValue, 0.15, 0.02)
            return spread.mark_area(opacity=1, aria=False).encode(fillOpacity=fade)
        fade = self.fade(alt.StrokeOpacityValue, 0.8, 0.1)
        return spread.mark_rule(strokeWidth=2, aria=False).encode(strokeOpacity=fade)

    def pointer(self, texts: pd.DataFrame) -> Any:
        """Strips around the measured x: the one under the pointer shows a rule and the values of all arms.

        ``texts`` has the columns arm, x and ``text``; several texts at one x are joined. Adds the selections
        that :meth:`fade` refers to.
        """
        return self._pointer(self._strips(texts))

    def _strips(self, texts: pd.DataFrame) -> pd.DataFrame:
        """One line per measured x: the ends of its strip, and the texts of the arms."""
        wide = texts.pivot_table(index=self.x, columns=self.arm, values="text", aggfunc="; ".join, sort=False)
        wide = wide.fillna("not measured").reset_index()
        wide = wide.rename(columns={arm: f"arm{number}" for number, arm in enumerate(self.arms)})
        edges = strips(self.ticks, self.log_x)
        places = [self.ticks.index(float(value)) for value in wide[self.x]]
        return wide.assign(start=[edges[at] for at in places], end=[edges[at + 1] for at in places])

    def _pointer(self, wide: pd.DataFrame) -> Any:
        tips = [self.tip(f"arm{n}", arm, "nominal") for n, arm in enumerate(self.arms) if f"arm{n}" in wide]
        near = alt.selection_point(
            name=f"near{self.number}", on="pointerover", clear="pointerout", fields=["start"], empty=False
        )
        picked = alt.selection_point(fields=[field(self.arm)], bind="legend", name=f"picked{self.number}")
        shown = alt.param(name="shown", value=[])
        base = alt.Chart(inline(wide))
        rule = base.mark_rule(strokeWidth=1, aria=False).encode(
            x=self.along_x(), strokeOpacity=alt.condition(near, alt.value(0.6), alt.value(0))
        )
        strip = base.mark_rect(fill="transparent", opacity=1, aria=False).encode(
            x=self.along_x("start"), x2="end", tooltip=[self.tip(self.x, self.x_title), *tips]
        )
        named = strip.properties(name=f"strip{self.number}")
        return alt.layer(rule, named.add_params(near, picked, shown))

    def tip(self, column: str, title: str, kind: Any = "quantitative") -> alt.Tooltip:
        shape = ".4~g" if kind == "quantitative" else alt.Undefined
        return alt.Tooltip(field=field(column), type=kind, title=title, format=shape)

    def along_x(self, column: str | None = None) -> alt.X:
        whole = all(float(tick).is_integer() for tick in self.ticks)
        edges = strips(self.ticks, self.log_x)
        return alt.X(
            field=column or field(self.x),
            type="quantitative",
            title=self.x_title,
            scale=alt.Scale(type="log" if self.log_x else "linear", domain=[edges[0], edges[-1]], nice=False),
            axis=alt.Axis(
                values=list(self.ticks),
                format=",d" if whole else "~g",
                labelOverlap="greedy",
                labelSeparation=6,
            ),
        )

    def along_y(self, column: str) -> alt.Y:
        """The title is horizontal, above the axis."""
        given = {} if self.domain is None else {"domain": list(self.domain), "nice": False}
        plain = "format(datum.value, datum.value ? '+~g' : 'd')" if self.signed else alt.Undefined
        marks = logarithmic(self.domain) if self.log_y and self.domain else []
        powers = bool(marks) and (marks[-1] >= 1e5 or marks[0] < 1e-4)
        if powers:
            plain = "format(datum.value, datum.value < 0.01 || datum.value >= 1000 ? '~e' : '~g')"
        axis = alt.Axis(
            values=marks or alt.Undefined,
            tickCount=8 if marks else alt.Undefined,
            format="~e" if powers else "~g",
            labelExpr=plain,
            titleAngle=0,
            titleAlign="left",
            titleAnchor="end",
            titleBaseline="bottom",
            titleX=-36,
            titleY=-12,
        )
        scale = alt.Scale(type="log" if self.log_y else "linear", **given)
        return alt.Y(field=column, type="quantitative", title=self.y_title, scale=scale, axis=axis)

    def colour(self) -> alt.Color:
        widest = 7.2 * max(len(name) for name in self.arms) + 46
        legend = alt.Legend(
            orient="top",
            direction="horizontal",
            columns=max(1, math.floor((self.width + 40) / widest)),
            symbolOpacity=1,
            symbolSize=120,
            symbolStrokeWidth=0,
            labelLimit=self.width,
            columnPadding=18,
            offset=34,
        )
        return self._by_arm(alt.Color, [style.color for style in self.styles], legend=legend)

    def dash(self) -> alt.StrokeDash:
        return self._by_arm(alt.StrokeDash, [list(style.dash) for style in self.styles], legend=None)

    def shape(self) -> alt.Shape:
        return self._by_arm(alt.Shape, [style.shape for style in self.styles])

    def _by_arm(self, channel: Any, values: Sequence[Any], **more: Any) -> Any:
        scale = alt.Scale(domain=list(self.arms), range=list(values))
        return channel(field=field(self.arm), type="nominal", scale=scale, **more)


def strips(ticks: Sequence[float], log: bool) -> list[float]:
    """The bounds of the strips around ``ticks``: halfway between neighbours, and a little beyond the ends.

    >>> strips([10, 20, 30], log=False)
    [9.2, 15.0, 25.0, 30.8]
    """
    places = [math.log2(tick) if log else float(tick) for tick in ticks]
    beyond = 0.04 * (places[-1] - places[0]) or 0.5
    halves = [(left + right) / 2 for left, right in pairwise(places)]
    bounds = [places[0] - beyond, *halves, places[-1] + beyond]
    return [2**bound if log else bound for bound in bounds]


def logarithmic(domain: Domain) -> list[float]:
    """The powers of ten in ``domain``; with twice and five times these if there are fewer than three.

    >>> logarithmic((1, 1000)), logarithmic((30, 600))
    ([1.0, 10.0, 100.0, 1000.0], [50.0, 100.0, 200.0, 500.0])
    """
    fine = [digit * 10.0**power for power in range(-12, 31) for digit in (1, 2, 5)]
    inside = [mark for mark in fine if domain[0] <= mark <= domain[1]]
    powers = [mark for mark in inside if mark in fine[::3]]
    return powers if len(powers) > 2 else inside


MOST_RUNS = 8000
"""More single runs in a panel are neither told apart nor quickly drawn."""


def few_seeds(runs: pd.DataFrame, seed: str) -> pd.DataFrame:
    """The runs of the first seeds, as many whole seeds as there is room for; all of them if there are few."""
    if len(runs) <= MOST_RUNS:
        return runs
    room = runs.groupby(seed).size().cumsum()
    kept = room.index[: max(1, int((room <= MOST_RUNS).sum()))]
    return runs[runs[seed].isin(kept)]


def inline(frame: Any) -> alt.InlineData:
    """The rows of ``frame`` inside the chart, without Altair's limit of 5,000 on a DataFrame."""
    return alt.InlineData(values=records(frame))


def records(frame: Any) -> list[dict[str, Any]]:
    """The rows of ``frame`` as a chart has them."""
    return json.loads(frame.to_json(orient="records", double_precision=15))


def field(name: str) -> str:
    """A column's name, escaped: in Vega-Lite dots and brackets mean nested values."""
    return "".join("\\" + letter if letter in ".[]'\"\\" else letter for letter in name)


def _drawable(means: pd.DataFrame, domain: Domain | None) -> pd.DataFrame:
    """The means with interval ends clipped to the domain, and missing where there is no interval."""
    ends = means[["low", "high"]].where(means["high"] < math.inf)
    return means.drop(columns="std").assign(**(ends if domain is None else ends.clip(*domain)))


def _words(mean: float, low: float, high: float, count: int) -> str:
    """A mean, its interval to three digits of its width, and the number of runs, for tooltips."""
    if high == math.inf:
        return f"{mean:.4g}, {count} run{'s' if count > 1 else ''}, no interval".replace("-", "−")
    digits = 2 - math.floor(math.log10(high - low)) if high > low else 4
    mean, low, high = (round(value, digits) + 0.0 for value in (mean, low, high))
    return f"{mean:g} ({low:g} to {high:g}), {count} runs".replace("-", "−")
