"""The chart of sample complexities: m* with its interval against one quantity, with theory's rates.

Lines join only settings that reached the target; one that did not is a hollow triangle at its cap.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from whyconv.lazy import alt, pd
from whyconv.report import theme
from whyconv.report.charts import finish, in_order, note, places
from whyconv.report.layers import Domain, Frame, inline, strips

REACH = 10.0
"""Interval ends and theory widen the axis by at most this factor beyond the measurements."""
ASIDE = 7
"""Pixels between the marks of two arms at the same x."""
LONGEST, APART = 26, 15
"""Labels of theory: characters that fit beside the chart, and pixels from one label to the next."""
DASH = [3, 3]
THEORY = "theory’s rate, scaled to the measurements"


def complexities(
    table: pd.DataFrame,
    *,
    title: str,
    x_title: str,
    theory: pd.DataFrame | None = None,
    arms: Sequence[str] | None = None,
    controls: Collection[str] = (),
    log_x: bool = True,
) -> alt.TopLevelMixin:
    """m* against ``x``, one line per arm, with intervals; settings not reached apart, at their caps.

    ``table`` has one line per arm and x: arm, x, m (nan if not reached), low (0: no lower limit), high (inf:
    no upper one), cap, count. An interval that extends beyond the axis ends in an arrow; its true ends are in
    the tooltip. Below the chart is what the triangles mean (``not reached by m = 1000``). ``theory``
    (arm, x, y, label) gives thin dashed lines in the arms' colours; labels are in tooltips, and at the right
    end of a line where they fit. ``arms`` and ``controls`` are as in :func:`whyconv.report.charts.curves`.
    """
    if table.empty:
        return note(title, "There are no finished rows yet.")
    order = in_order(table["arm"], arms)
    rates = table[:0].assign(y=0.0, label="") if theory is None else theory[theory["arm"].isin(order)]
    frame = Frame(
        x="x", y="m", arm="arm", x_title=x_title, y_title="examples needed, m*", log_x=log_x,
        ticks=places(table["x"]), domain=_domain(table, rates), arms=order, log_y=True,
        styles=theme.styles(order, controls), width=theme.WIDTH,
    )  # fmt: skip
    table = _beside(table, frame).assign(text=[_words(line) for line in table.itertuples()])
    reached = table[table["m"].notna()]
    missed = table[table["m"].isna()]
    keys = {}
    if len(missed):
        caps = set(missed["cap"])
        largest = f"m = {_whole(min(caps))}" if len(caps) == 1 else "the largest m tried"
        keys["missed"] = f"not reached by {largest}"
    if len(rates):
        keys["theory"] = THEORY
    chart = alt.layer(
        *_intervals(reached, frame),
        _lines(table, frame),
        frame.pointer(table[["arm", "x", "text"]]),
        *(_theory(rates, frame) if len(rates) else ()),
        *_points(reached, missed, frame),
        *_keys(keys),
    )
    lacking = "; ".join(f"{arm} at {_listed(part['x'])}" for arm, part in missed.groupby("arm", sort=False))
    also = f"; not reached: {lacking}" if lacking else ""
    return finish(chart.properties(width=theme.WIDTH, height=theme.HEIGHT), title, frame, also)


def _domain(table: pd.DataFrame, theory: pd.DataFrame) -> Domain:
    """At least a decade: all measurements, and interval ends and theory within :data:`REACH` of them."""
    drawn = table["m"].fillna(table["cap"])
    bottom, top = float(drawn.min()), float(drawn.max())
    ends = [bottom, top, *table["low"], *table["high"], *theory["y"]]
    inside = [end for end in ends if bottom / REACH <= end <= top * REACH]
    low, high = min(inside) / 1.25, max(inside) * 1.25
    widen = math.sqrt(max(1.0, 10 * low / high))
    return low / widen, high * widen


def _beside(table: pd.DataFrame, frame: Frame) -> pd.DataFrame:
    """Adds the column ``place``: x, shifted a little so that no arm hides another."""
    bounds = strips(frame.ticks, frame.log_x)
    start, end = (math.log(bound) if frame.log_x else bound for bound in (bounds[0], bounds[-1]))
    step = ASIDE * (end - start) / theme.WIDTH
    aside = [(frame.arms.index(arm) - (len(frame.arms) - 1) / 2) * step for arm in table["arm"]]
    moved = [x * math.exp(by) if frame.log_x else x + by for x, by in zip(table["x"], aside, strict=True)]
    return table.assign(place=moved)


def _intervals(reached: pd.DataFrame, frame: Frame) -> Iterator[Any]:
    """Bars clipped to the axis, with an arrow where clipped; nothing where both ends are open."""
    assert frame.domain is not None
    bars = reached[(reached["low"] > 0) | (reached["high"] < math.inf)]
    ends = bars[["low", "high"]].clip(*frame.domain)
    bars = bars[["arm", "place"]].assign(
        start=ends["low"], end=ends["high"], low=bars["low"], high=bars["high"]
    )
    shown = frame.fade(alt.StrokeOpacityValue, 0.75, 0.08)
    yield (
        _marks(bars[["arm", "place", "start", "end"]], frame, "start")
        .mark_rule(strokeWidth=1.75, aria=False)
        .encode(y2="end", strokeOpacity=shown)
    )
    for end, cut, shape in (
        ("start", bars["low"] < frame.domain[0], "triangle-down"),
        ("end", bars["high"] > frame.domain[1], "triangle-up"),
    ):
        if cut.any():
            yield (
                _marks(bars.loc[cut, ["arm", "place", end]], frame, end)
                .mark_point(shape=shape, filled=True, size=45, opacity=1, aria=False)
                .encode(fillOpacity=frame.fade(alt.FillOpacityValue, 0.75, 0.08))
            )


def _lines(table: pd.DataFrame, frame: Frame) -> Any:
    """From one reached setting to the next; one that was not reached interrupts the line."""
    ordered = table.sort_values("x")
    part = ordered["m"].isna().groupby(ordered["arm"]).cumsum()
    joined = ordered.assign(part=part).loc[ordered["m"].notna(), ["arm", "place", "m", "part"]]
    return (
        _marks(joined, frame, "m")
        .mark_line(strokeWidth=2.25)
        .encode(
            detail="part:N",
            strokeDash=frame.dash(),
            strokeOpacity=frame.fade(alt.StrokeOpacityValue, 1, 0.12),
        )
    )


def _points(reached: pd.DataFrame, missed: pd.DataFrame, frame: Frame) -> Iterator[Any]:
    """Filled where measured, hollow triangles where not reached; both with tooltips."""
    tips = [
        frame.tip("arm", "arm", "nominal"),
        frame.tip("x", frame.x_title),
        frame.tip("text", "m*", "nominal"),
    ]
    yield (
        _marks(reached, frame, "m")
        .mark_point(filled=True, size=60, opacity=1)
        .encode(shape=frame.shape(), fillOpacity=frame.fade(alt.FillOpacityValue, 1, 0.12), tooltip=tips)
    )
    if len(missed):
        yield (
            _marks(missed, frame, "cap")
            .mark_point(shape="triangle-up", filled=False, size=90, strokeWidth=1.75, opacity=1)
            .encode(strokeOpacity=frame.fade(alt.StrokeOpacityValue, 1, 0.12), tooltip=tips)
        )


def _theory(theory: pd.DataFrame, frame: Frame) -> Iterator[Any]:
    """Thin dashed lines, and their labels where they fit."""
    tips = [frame.tip("arm", "arm", "nominal"), frame.tip("label", "theory", "nominal")]
    lines = alt.Chart(inline(theory[["arm", "x", "y", "label"]])).encode(
        x=frame.along_x(), y=frame.along_y("y"), color=frame.colour()
    )
    yield lines.mark_line(strokeWidth=1.25, strokeDash=DASH, clip=True).encode(
        detail="label:N", strokeOpacity=frame.fade(alt.StrokeOpacityValue, 0.85, 0.1), tooltip=tips
    )
    labels = _labels(theory, frame)
    if len(labels):
        aside = 12 + ASIDE * (len(frame.arms) - 1) / 2
        text = alt.Chart(inline(labels)).mark_text(align="left", baseline="middle", dx=aside, fontSize=11)
        yield text.encode(
            x=frame.along_x(), y=frame.along_y("y"), text="label:N", color=frame.colour(), tooltip=tips,
            fillOpacity=frame.fade(alt.FillOpacityValue, 1, 0.12),
        )  # fmt: skip


def _labels(theory: pd.DataFrame, frame: Frame) -> pd.DataFrame:
    """Labels at the right ends of lines that reach the last tick, moved up where two would overlap."""
    assert frame.domain is not None
    low, high = frame.domain
    ends = theory.sort_values("x").groupby(["arm", "label"], sort=False).tail(1).sort_values("y")
    inside = (ends["x"] >= frame.ticks[-1]) & ends["y"].between(low, high)
    ends = ends[inside & (ends["label"].str.len() <= LONGEST)]
    gap = (high / low) ** (APART / theme.HEIGHT)
    heights: list[float] = []
    for y in ends["y"]:
        heights.append(max(y, heights[-1] * gap) if heights else y)
    placed = ends.assign(x=frame.ticks[-1], y=heights)[["arm", "x", "y", "label"]]
    return placed[placed["y"] <= high]


def _keys(texts: dict[str, str]) -> Iterator[Any]:
    """What triangles and dashes mean, below the axis: the legend lists only arms."""
    for line, (kind, text) in enumerate(texts.items()):
        down = 62 + 18 * line
        base = alt.Chart(alt.InlineData(values=[{"text": text}])).encode(y=alt.value("height"))
        if kind == "missed":
            yield base.mark_point(
                shape="triangle-up", filled=False, size=90, strokeWidth=1.75, color=theme.GREY, opacity=1,
                yOffset=down,
            ).encode(x=alt.value(12))  # fmt: skip
        else:
            yield base.mark_rule(
                strokeWidth=1.25, strokeDash=DASH, color=theme.GREY, yOffset=down, y2Offset=down
            ).encode(x=alt.value(0), x2=alt.value(24))
        yield base.mark_text(align="left", baseline="middle", dy=down, fontSize=11.5).encode(
            x=alt.value(32), text="text:N"
        )


def _marks(rows: pd.DataFrame, frame: Frame, y: str) -> Any:
    """A layer of ``rows`` in the arms' colours."""
    return alt.Chart(inline(rows)).encode(x=frame.along_x("place"), y=frame.along_y(y), color=frame.colour())


def _words(line: Any) -> str:
    """m* with its interval and the number of runs, for tooltips; sizes are rounded up."""
    runs = f"{line.count} run{'s' if line.count > 1 else ''}"
    low, high = (_whole(end) for end in (line.low, line.high))
    if math.isnan(line.m):
        return f"not reached by m = {_whole(line.cap)}{f' (at least {low})' if line.low > 0 else ''}, {runs}"
    if line.low > 0:
        interval = f" ({low} to {high})" if line.high < math.inf else f" (at least {low})"
    else:
        interval = f" (at most {high})" if line.high < math.inf else ""
    return f"{_whole(line.m)}{interval}, {runs}{'' if interval else ', no interval'}"


def _whole(size: float) -> str:
    return str(math.ceil(round(size, 6))) if size < math.inf else "∞"


def _listed(values: Any) -> str:
    return ", ".join(f"{value:g}" for value in sorted(values))
