"""The charts that studies draw: learning curves, and paired differences with an equivalence band.

One Altair definition serves the notebook, the page (interactive, as wide as its column) and the SVG and PDF
files (at a fixed width). Every run stays visible, faint behind the mean; intervals come from
:mod:`whyconv.measure.intervals`. Ticks are at the values that were measured.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from whyconv.lazy import alt, pd
from whyconv.measure.intervals import summarise
from whyconv.report import theme
from whyconv.report.layers import Domain, Frame, few_seeds


def curves(
    table: pd.DataFrame,
    x: str,
    y: str,
    arm: str = "arm",
    *,
    title: str,
    x_title: str,
    y_title: str,
    log_x: bool = False,
    log_y: bool = False,
    y_domain: Domain | None = None,
    ceiling: tuple[float, str] | None = None,
    facet: str | None = None,
    facet_title: str | None = None,
    arms: Sequence[str] | None = None,
    controls: Collection[str] = (),
    seed: str = "seed",
) -> alt.TopLevelMixin:
    """``y`` against ``x``, one line per arm: mean, 95 % interval, and every single run
    (of the first seeds, if there are thousands).

    ``arms`` gives the order (others follow as they appear), ``controls`` the arms to draw in grey; colours
    come from :func:`whyconv.report.theme.styles`. Where all values lie in [0, 1], as errors do, intervals are
    clipped to that range in the drawing (not in the tooltip). ``ceiling`` is a line and its label, such as
    a budget. ``facet`` names a column and gives one panel per value, all on the same axes, titled
    "facet_title = value" (just the value if the title is empty); a single one is as large as a figure. An
    empty table gives a note, not a chart.
    """
    if table.empty:
        return note(title, "There are no finished rows yet.")
    order = in_order(table[arm], arms)
    single = facet is None or table[facet].nunique() == 1
    width, height = (theme.WIDTH, theme.HEIGHT) if single else (theme.PANEL_WIDTH, theme.PANEL_HEIGHT)
    title += left_out(table, facet, seed)
    domain = y_domain or (_decades(table[y]) if log_y else _sensible(table[y]))
    frame = Frame(
        x=x, y=y, arm=arm, seed=seed, x_title=x_title, y_title=y_title, log_x=log_x, ticks=places(table[x]),
        domain=domain, arms=order, styles=theme.styles(order, controls), width=width,
        facet=facet, log_y=log_y,
    )  # fmt: skip
    if facet is None:
        means = summarise(table, [arm, x], y)
        title += coinciding(means, arm, x, log_y)
        chart = frame.panel(table, means)
        if ceiling is not None:
            chart = alt.layer(*_ceiling(*ceiling), chart)
        return finish(chart.properties(width=width, height=height), title, frame)
    panels = []
    for number, (value, part) in enumerate(table.groupby(facet, observed=True)):
        means = summarise(part, [arm, x], y)
        panel = replace(frame, width=width if single else 2 * width, number=number).panel(part, means)
        name = str(value) if facet_title == "" else f"{facet_title or facet} = {value}"
        name += coinciding(means, arm, x, log_y)
        panels.append(panel.properties(width=width, height=height, title=name))
    return finish(alt.concat(*panels, columns=2), title, frame)


def paired(
    table: pd.DataFrame,
    x: str,
    y: str,
    pair: tuple[str, str],
    arm: str = "arm",
    *,
    title: str,
    x_title: str,
    y_title: str,
    margin: float = 0.02,
    log_x: bool = False,
    y_domain: Domain | None = None,
    seed: str = "seed",
) -> alt.TopLevelMixin:
    """The difference ``pair[0] - pair[1]`` in ``y`` against ``x``, seed by seed, with a band of ``± margin``.

    Only seeds that both arms have at an ``x`` count. An interval inside the band means: equivalent there.
    """
    differences: Any = table if table.empty else pair_up(table, x, y, pair, arm=arm, seed=seed)
    if differences.empty:
        return note(title, f"There are no finished pairs of {pair[0]} and {pair[1]} yet.")
    means = summarise(differences, ["arm", x], "difference")
    reach = 1.1 * max(2 * margin, float(differences["difference"].abs().max()))
    frame = Frame(
        x=x, y="difference", arm="arm", seed=seed, x_title=x_title, y_title=y_title, log_x=log_x,
        ticks=places(differences[x]), domain=y_domain or (-reach, reach), arms=[f"{pair[0]} − {pair[1]}"],
        styles=theme.styles(pair[:1]), width=theme.WIDTH, signed=True,
    )  # fmt: skip
    title += left_out(differences, None, seed)
    chart = alt.layer(*_band(margin), frame.panel(differences, means))
    return finish(chart.properties(width=theme.WIDTH, height=theme.HEIGHT), title, frame)


def pair_up(
    table: pd.DataFrame, x: str, y: str, pair: tuple[str, str], *, arm: str = "arm", seed: str = "seed"
) -> pd.DataFrame:
    """One line per ``x`` and seed that both arms have, with the columns ``x``, seed, difference and arm."""
    first, second = (table.loc[table[arm] == name, [x, seed, y]] for name in pair)
    both = first.merge(second, on=[x, seed], validate="one_to_one", suffixes=("", " of the second"))
    difference = both[y] - both[f"{y} of the second"]
    return both[[x, seed]].assign(difference=difference, arm=f"{pair[0]} − {pair[1]}")


def note(title: str, text: str) -> alt.TopLevelMixin:
    """A chart that is only a text, for one that cannot be drawn yet."""
    chart = alt.Chart(pd.DataFrame({"note": [text]})).mark_text(fontSize=14).encode(text="note:N")
    described = f"{title}: {text}"
    return chart.properties(
        width=theme.WIDTH, height=60, title=title, description=described, config=theme.config()
    )


def coinciding(means: pd.DataFrame, arm: str, x: str, log_y: bool = False) -> str:
    """Which curves hide each other, for the title: at every x that both have, means differ by a hundredth
    of the range of all means at most."""
    wide = means.pivot_table(index=x, columns=arm, values="mean", sort=False)
    wide = wide.apply(pd.to_numeric)
    if log_y:
        wide = wide[wide > 0].map(math.log)
    reach = 0.01 * float(wide.max().max() - wide.min().min())
    names: list[str] = list(wide.columns)
    on: dict[str, list[str]] = {}
    for place, second in enumerate(names):
        for first in names[:place]:
            apart = (wide[first] - wide[second]).abs().dropna()
            if len(apart) > 1 and apart.max() <= reach:
                on.setdefault(_quoted(first), []).append(_quoted(second))
                break
    said = [
        f"{' and '.join(filter(None, (', '.join(above[:-1]), above[-1])))} "
        f"{'lies' if len(above) == 1 else 'lie'} on {first}"
        for first, above in on.items()
    ]
    return f" ({'; '.join(said)})" if said else ""


def _quoted(name: str) -> str:
    """A name that can stand in a list."""
    return f"“{name}”" if "," in name else name


def in_order(values: Iterable[Any], arms: Sequence[str] | None) -> list[str]:
    """The arms that occur, those of ``arms`` first."""
    occurring = list(dict.fromkeys(str(value) for value in values))
    named = [name for name in arms or () if name in occurring]
    return named + [name for name in occurring if name not in named]


def places(values: Iterable[Any]) -> list[float]:
    """The values that occur, sorted: the ticks."""
    return [float(value) for value in sorted(set(values))]


def _sensible(values: Any) -> Domain | None:
    """For values in [-1, 1]: from 0 or the least to the largest, in twentieths. Else Vega-Lite decides."""
    low, high = float(values.min()), float(values.max())
    if not -1 <= low <= high <= 1:
        return None
    return min(0.0, math.floor(low * 20) / 20), min(1.0, max(0.05, math.ceil(high * 20) / 20))


def _decades(values: Any) -> Domain:
    """For a logarithmic axis: from the next 1, 2 or 5 times a power of ten below all values to that above."""
    low, high = float(values.min()), float(values.max())
    marks = [digit * 10.0**power for power in range(-40, 41) for digit in (1, 2, 5)]
    first = max(place for place, mark in enumerate(marks) if mark <= low * 1.001)
    last = min(place for place, mark in enumerate(marks) if mark >= high * 0.999)
    return (marks[first], marks[last]) if first < last else (marks[first - 1], marks[last + 1])


def _band(margin: float) -> list[Any]:
    """The shaded equivalence band with its label, and the line at zero."""
    text = f"equivalent: within ± {margin:g}"
    base = alt.Chart(pd.DataFrame({"from": [-margin], "to": [margin], "zero": [0.0], "text": [text]}))
    return [
        base.mark_rect(color=theme.GREY, opacity=0.13).encode(y="from:Q", y2="to:Q"),
        base.mark_rule(color=theme.GREY).encode(y="zero:Q"),
        base.mark_text(align="right", baseline="bottom", dx=-6, dy=-4).encode(
            y="from:Q", x=alt.value("width"), text="text:N"
        ),
    ]


def _ceiling(value: float, text: str) -> list[Any]:
    """A dashed line with its label above it."""
    base = alt.Chart(pd.DataFrame({"value": [value], "text": [text]}))
    return [
        base.mark_rule(color=theme.GREY, strokeDash=[3, 3]).encode(y="value:Q"),
        base.mark_text(align="left", baseline="bottom", dx=6, dy=-4).encode(
            y="value:Q", x=alt.value(0), text="text:N"
        ),
    ]


def left_out(table: pd.DataFrame, facet: str | None, seed: str) -> str:
    """How many seeds are not drawn one by one; means and intervals are of all."""
    parts = [table] if facet is None else [part for _, part in table.groupby(facet, observed=True)]
    drawn = min(few_seeds(part, seed)[seed].nunique() for part in parts)
    seeds = min(part[seed].nunique() for part in parts)
    return "" if drawn == seeds else f" (single runs: the first {drawn:,} of {seeds:,} seeds)"


def finish(chart: Any, title: str, frame: Frame, also: str = "") -> alt.TopLevelMixin:
    """Add title, theme, the description for screen readers, and the legend for the page to draw."""
    arms = [
        {"name": name, "color": style.color, "dash": list(style.dash), "shape": style.shape}
        for name, style in zip(frame.arms, frame.styles, strict=True)
    ]
    return chart.properties(
        title=title,
        description=f"{title}: {frame.y_title} against {frame.x_title}, for {', '.join(frame.arms)}{also}",
        config=theme.config(),
        usermeta={"whyconv": {"arms": arms}},
    )
