"""How charts look: colours, fonts and lines, for light and dark pages.

A colour means the same kind of network in every figure: blue shares its weights over windows (ConvPool, CNN),
vermilion is fully connected (MLP, FCN), green is linear (SVM), purple is local without sharing (LCN).
Controls, which are broken on purpose, are grey and dashed. The hues are those of Okabe and Ito, which
remain distinct for the colour-blind; shapes and dashes repeat the distinction for print.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
WIDTH, HEIGHT = 560, 320
"""Size of a chart's plotting area in exports and notebooks; on the page the width follows the column."""
PANEL_WIDTH, PANEL_HEIGHT = 270, 210
"""The same for one panel of small multiples."""

BLUE, VERMILION, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#B0619A", "#7F868D"
AMBER, INDIGO, OLIVE, BROWN = "#C98500", "#5E5FB8", "#7A8B24", "#8A6A4F"
FAMILIES = {"ConvPool": BLUE, "CNN": BLUE, "MLP": VERMILION, "FCN": VERMILION, "SVM": GREEN, "LCN": PURPLE}
LIGHTER = {BLUE: "#3F9FD8", VERMILION: "#EE9A5B", GREEN: "#62BFA0", PURPLE: "#D59AC6", AMBER: "#DDB65C"}
"""The colour of a variant, such as ``ConvPool layerwise``, by that of its family."""
RAMP = ("#74C2B8", "#4FABB4", "#3390AC", "#2374A0", "#24588D", "#293C73", "#291F55")
"""For arms that are values of one quantity, such as ``positions = 10``: the larger, the darker."""
DARK = {
    **{BLUE: "#4BA3E3", VERMILION: "#F5843C", GREEN: "#2FC29A", PURPLE: "#D48CC2", GREY: "#9AA3AC"},
    **{AMBER: "#E8B04A", INDIGO: "#9C9DEB", OLIVE: "#B5C65A", BROWN: "#C9A688"},
    **dict(zip(LIGHTER.values(), ("#9CD0F5", "#F9BE93", "#8FE3C8", "#EBC4E0", "#F3D9A4"), strict=True)),
    **dict(
        zip(RAMP, ("#4E8794", "#5B9FA6", "#6CB5B5", "#85CABF", "#A3DCCB", "#C4EDDA", "#E8FBF0"), strict=True)
    ),
}
"""The colour on a dark page, by that on a light one."""

_SHAPES = {BLUE: "circle", VERMILION: "square", GREEN: "triangle-up", PURPLE: "diamond", AMBER: "triangle-up"}
_SPARE = (AMBER, INDIGO, OLIVE, BROWN)
SOLID = (1, 0)
_DASHES: tuple[tuple[int, ...], ...] = ((5, 3), (2, 2), (8, 3, 2, 3), (1, 3))
_VALUE = re.compile(r"(.+?) *= *[-+.,\d]+(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Style:
    """How one arm is drawn: colour, dash pattern and point shape."""

    color: str
    dash: tuple[int, ...] = SOLID
    shape: str = "circle"


def styles(arms: Sequence[str], controls: Collection[str] = ()) -> list[Style]:
    """A style for each arm of a figure.

    An arm is a control when ``controls`` names it or its name says ``control``: grey and dashed. Otherwise
    the first word decides: a family of :data:`FAMILIES` has its colour (ConvPool amber beside a CNN, which is
    blue as well); a longer name, such as
    ``ConvPool layerwise``, is a variant: the lighter tone, dashed. Other names get the spare colours, in
    order; if all arms are values of one quantity, such as ``n = 10`` and ``n = 20``, they get a ramp.
    """
    names = [arm for arm in arms if not _is_control(arm, controls)]
    quantities = {match[1] if (match := _VALUE.fullmatch(name)) else None for name in names}
    if len(names) > 1 and len(quantities) == 1 and None not in quantities:
        own = dict(zip(names, _ramp(len(names)), strict=True))
    else:
        own = _by_family(names)
    greys = itertools.starmap(partial(Style, GREY), _drawn("cross"))
    return [own[arm] if arm in own else next(greys) for arm in arms]


def _is_control(arm: str, controls: Collection[str]) -> bool:
    return arm in controls or "control" in arm.lower()


def _ramp(count: int) -> list[Style]:
    """``count`` steps from end to end of the ramp; beyond its length dashes distinguish neighbours."""
    last = len(RAMP) - 1
    steps = [round(place * last / (count - 1)) for place in range(count)]
    repeated = [step in steps[:place] for place, step in enumerate(steps)]
    return [
        Style(RAMP[step], _DASHES[0] if again else SOLID) for step, again in zip(steps, repeated, strict=True)
    ]


def _by_family(names: Sequence[str]) -> dict[str, Style]:
    families = FAMILIES | ({"ConvPool": AMBER} if {"CNN", "ConvPool"} <= set(names) else {})
    spare = itertools.cycle(itertools.product((SOLID, *_DASHES), _SPARE))
    variants = {color: _drawn(_SHAPES[color]) for color in LIGHTER}
    found = {}
    for name in names:
        words = re.findall(r"[^\s,(]+", name)
        color = families.get(words[0]) if words else None
        if color is None:
            dash, color = next(spare)
            found[name] = Style(color, dash, "diamond")
        elif name in families:
            found[name] = Style(color, shape=_SHAPES[color])
        else:
            found[name] = Style(LIGHTER[color], *next(variants[color]))
    return found


def _drawn(first: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """Dashes and shapes of arms of one colour: legends of files show shapes alone."""
    shapes = [first, *(shape for shape in ("cross", "diamond", "square", "circle") if shape != first)]
    return itertools.cycle(zip(_DASHES, shapes, strict=False))


def config(dark: bool = False) -> dict[str, Any]:
    """The Vega-Lite configuration of every chart."""
    ink, quiet, grid = ("#E6E8EA", "#A9B0B7", "#33383E") if dark else ("#22262A", "#5B636B", "#E4E6E8")
    label = {"labelFontSize": 12, "labelColor": quiet, "titleFontSize": 12.5, "titleColor": ink}
    return {
        "font": FONT,
        "background": "transparent" if dark else "white",
        "view": {"stroke": None},
        "axis": {**label, "titleFontWeight": "normal", "labelPadding": 6, "titlePadding": 10},
        "axisX": {"domainColor": quiet, "tickColor": quiet, "tickSize": 5, "grid": False},
        "axisY": {"domain": False, "ticks": False, "gridColor": grid, "tickCount": 5},
        "legend": {**label, "labelColor": ink, "labelFontSize": 12.5, "title": None, "labelLimit": 260},
        "title": {"fontSize": 14, "fontWeight": 600, "color": ink, "anchor": "start", "offset": 12},
        "text": {"color": quiet, "fontSize": 12},
        "rule": {"color": quiet},
        "concat": {"spacing": 28},
    }
