"""The chart of sample complexities: what was not reached is never drawn as if it had been measured."""

import json
import math
from functools import cache

import pandas as pd
import pytest

from whyconv.report import theme
from whyconv.report.complexity_chart import DASH, complexities
from whyconv.report.embedding import files, panels
from whyconv.report.layers import logarithmic

NAN, INF = math.nan, math.inf
COLUMNS = ["arm", "x", "m", "low", "high", "cap", "count"]
TITLES = {"title": "Examples needed", "x_title": "patches k"}


def table(*lines):
    return pd.DataFrame(lines, columns=COLUMNS)


def measured():
    """The FCN misses its second value of three, the CNN has an open interval and one without any."""
    return table(
        ("CNN", 10, 20.2, 15.5, 25, 1000, 5),
        ("CNN", 20, 30, 0, 40, 1000, 5),
        ("CNN", 40, 50, 0, INF, 1000, 1),
        ("FCN", 10, 200, 150, 260, 1000, 5),
        ("FCN", 20, NAN, 900, INF, 1000, 5),
        ("FCN", 40, 800, 700, INF, 1000, 5),
    )


def theory(**labels):
    return pd.DataFrame(
        [(arm, x, 20.0 * x, label) for arm, label in labels.items() for x in (10, 20, 40)],
        columns=["arm", "x", "y", "label"],
    )


def drawn(*given, **more):
    """The definition of a chart; one test validates it, which takes longer than all the rest."""
    return complexities(*given, **more, **TITLES).to_dict(validate=False)


@cache
def plain():
    return drawn(measured())


def said(spec):
    return json.dumps(spec, ensure_ascii=False)


def layers(spec, mark):
    """The layers of this mark with their data, outermost first."""

    def walk(part, data):
        data = part.get("data", data)
        for inner in part.get("layer", []):
            yield from walk(inner, data)
        if "mark" in part and part["mark"]["type"] == mark:
            yield part, spec["datasets"].get(data.get("name"), data.get("values"))

    return list(walk(spec, {}))


def triangles(chart):
    return [data for part, data in layers(chart, "point") if part["mark"].get("filled") is False]


def domain(chart):
    part, _ = layers(chart, "line")[0]
    assert part["encoding"]["y"]["scale"]["type"] == "log"
    return part["encoding"]["y"]["scale"]["domain"]


def test_it_draws_with_everything_said_in_the_files():
    rates = theory(CNN="σ²(k+d)", FCN="σ²k²d", SVM="")
    fine = pd.concat(
        [rates.assign(x=rates["x"] - part) for part in (2, 1, 0)]
    )  # longer than what was measured
    made = files(complexities(measured(), theory=fine, **TITLES))  # validates
    assert made.pdf.startswith(b"%PDF")
    for word in ("CNN", "FCN", "patches k", "examples needed, m*", "not reached by m = 1000", "σ²(k+d)"):
        assert word in made.svg
    for tick in (10, 20, 40, 100, 1000):
        assert f">{tick}</text>" in made.svg
    lines = made.csv.splitlines()
    assert lines[0].startswith("arm,x,m,low,high,cap,count")
    assert len(lines) == 1 + len(measured())


def test_what_was_not_reached_stands_at_its_cap_and_breaks_the_line():
    chart = plain()
    ((line, joined),) = layers(chart, "line")
    assert sorted((row["arm"], row["m"]) for row in joined) == [
        *(("CNN", m) for m in (20.2, 30, 50)),
        *(("FCN", m) for m in (200, 800)),
    ]
    assert line["encoding"]["detail"]["field"] == "part"
    parts = {(row["arm"], row["m"]): row["part"] for row in joined}
    assert len({parts["CNN", m] for m in (20.2, 30, 50)}) == 1
    assert parts["FCN", 200] != parts["FCN", 800]
    missed, key = triangles(chart)
    assert [part["encoding"]["y"]["field"] for part, data in layers(chart, "point") if data == missed] == [
        "cap"
    ]
    assert [(row["arm"], row["x"], row["cap"], row["m"]) for row in missed] == [("FCN", 20, 1000, None)]
    assert key == [{"text": "not reached by m = 1000"}]


def test_bars_are_cut_to_the_axis_with_arrows_where_they_go_on():
    chart = plain()
    low, high = domain(chart)
    (bars,) = [data for part, data in layers(chart, "rule") if "y2" in part["encoding"]]
    ends = [(row["start"], row["end"]) for row in bars]
    assert ends == [(15.5, 25), (low, 40), (150, 260), (700, high)]  # none for a single repetition
    small = [
        (part["mark"]["shape"], data) for part, data in layers(chart, "point") if part["mark"]["size"] == 45
    ]
    (down, lower), (up, upper) = small
    assert (down, [(row["arm"], row["start"]) for row in lower]) == ("triangle-down", [("CNN", low)])
    assert (up, [(row["arm"], row["end"]) for row in upper]) == ("triangle-up", [("FCN", high)])


def test_tooltips_tell_m_its_interval_and_the_runs():
    spec = plain()
    points = next(data for part, data in layers(spec, "point") if part["mark"]["size"] == 60)
    assert [row["text"] for row in points] == [
        "21 (16 to 25), 5 runs",
        "30 (at most 40), 5 runs",
        "50, 1 run, no interval",
        "200 (150 to 260), 5 runs",
        "800 (at least 700), 5 runs",
    ]
    ((_, strip),) = layers(spec, "rect")
    assert strip[1]["arm1"] == "not reached by m = 1000 (at least 900), 5 runs"
    assert "not reached: FCN at 20" in spec["description"]


def test_the_axis_holds_all_that_was_measured_and_at_least_a_decade():
    low, high = domain(plain())
    assert 10 < low < 15.5 and 1000 < high < 1300
    low, high = domain(drawn(table(("CNN", 1, 50, 49, 51, 90, 5))))
    assert high / low == pytest.approx(10) and low < 49 and high > 51
    wide = table(("CNN", 1, 50, 1, 80_000, 90, 5), ("CNN", 2, 60, 50, 70, 90, 5))
    low, high = domain(drawn(wide))
    assert low > 1 and high < 1000
    assert len(logarithmic((low, high))) >= 3


def test_theory_is_thin_dashed_and_in_the_colour_of_its_arm():
    chart = drawn(measured(), theory=theory(CNN="upper", FCN="lower", SVM="of nobody"))
    (_, joined), (line, rates) = layers(chart, "line")
    assert line["mark"]["strokeDash"] == DASH and line["mark"]["strokeWidth"] < 2 and line["mark"]["clip"]
    assert {row["label"] for row in rates} == {"upper", "lower"}
    assert [tip["field"] for tip in line["encoding"]["tooltip"]] == ["arm", "label"]
    colour = line["encoding"]["color"]
    assert (colour["field"], colour["scale"]["range"]) == ("arm", [theme.BLUE, theme.VERMILION])
    assert not {row.get("label") for row in joined} - {None}
    assert "theory’s rate, scaled to the measurements" in said(chart)
    assert "theory" not in said(drawn(measured(), theory=theory(SVM="of nobody")))


def labels(chart):
    return [row for part, data in layers(chart, "text") if "tooltip" in part["encoding"] for row in data]


def test_labels_of_theory_stand_apart_or_only_in_tooltips():
    same = drawn(measured(), theory=theory(CNN="one", FCN="other"))
    one, other = labels(same)
    low, high = domain(same)
    apart = theme.HEIGHT * math.log(other["y"] / one["y"]) / math.log(high / low)
    assert apart == pytest.approx(15)
    assert {one["x"], other["x"]} == {40}
    long = drawn(measured(), theory=theory(CNN="a label that is much longer than its room"))
    assert labels(long) == []
    short = theory(CNN="ends early")
    assert labels(drawn(measured(), theory=short[short["x"] < 40])) == []
    far = theory(CNN="far above").assign(y=lambda t: 1e4 * t["y"])
    assert labels(drawn(measured(), theory=far)) == []


def test_arms_at_one_place_stand_beside_each_other_in_their_order():
    for log_x in (True, False):
        chart = drawn(measured(), arms=["FCN", "CNN"], log_x=log_x)
        _, joined = layers(chart, "line")[0]
        at = {row["arm"]: row["place"] for row in joined if 9 < row["place"] < 11}
        assert 9.5 < at["FCN"] < 10 < at["CNN"] < 10.5
    alone = drawn(measured()[:3])
    assert [row["place"] for row in layers(alone, "line")[0][1]] == pytest.approx([10, 20, 40])


def test_the_triangles_are_explained():
    several = measured().assign(cap=[1000, 1000, 1000, 1000, 700, 900])
    several.loc[5, "m"] = NAN
    assert "not reached by the largest m tried" in said(drawn(several))
    reached = drawn(measured()[:4])
    assert triangles(reached) == [] and "not reached" not in said(reached)
    assert triangles(drawn(measured().assign(m=NAN)))[0][0]["cap"] == 1000


def test_the_legend_and_the_page_get_what_other_charts_give_them():
    spec = drawn(measured(), arms=["CNN"], controls=["FCN"])
    arms = spec["usermeta"]["whyconv"]["arms"]
    assert [(arm["name"], arm["color"]) for arm in arms] == [("CNN", theme.BLUE), ("FCN", theme.GREY)]
    assert {param["name"] for param in spec["params"]} == {"near0", "picked0", "shown"}
    (part,) = panels(spec)
    assert part["width"] == "container" and '"legend": {' not in json.dumps(part["layer"])
    assert files({**part, "width": 300}).svg.startswith("<svg")


def test_an_empty_table_gives_a_note():
    assert "There are no finished rows" in said(drawn(table()))
