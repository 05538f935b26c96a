"""Charts: they validate, draw, show every run, and keep one colour meaning."""

import json
import re
import subprocess
import sys

import altair as alt
import pandas as pd
import pytest
from report_samples import ERRORS, SIZES, differences, learning_curves, rows

from whyconv.report import theme
from whyconv.report.charts import _decades, _sensible, coinciding, curves, pair_up
from whyconv.report.embedding import _csv, files, panels
from whyconv.report.layers import strips


def colours(chart) -> dict[str, str]:
    return {arm["name"]: arm["color"] for arm in chart.to_dict()["usermeta"]["whyconv"]["arms"]}


def test_a_chart_validates_and_draws():
    made = files(learning_curves(rows()))  # to_dict validates against Vega-Lite's schema
    assert made.svg.startswith("<svg")
    assert made.pdf.startswith(b"%PDF")
    for word in ("ConvPool", "MLP", "SVM", "training examples m", "test error"):
        assert word in made.svg


def test_every_run_and_every_measured_size_is_drawn():
    made = files(learning_curves(rows()))
    lines = made.csv.splitlines()
    assert lines[0] == "arm,m,test_error,seed"
    assert len(lines) == 1 + 3 * len(SIZES) * 5
    for size in SIZES:
        assert f">{size}</text>" in made.svg


def test_intervals_are_cut_in_the_drawing_and_whole_in_the_tooltip():
    table = pd.DataFrame({"arm": "MLP", "m": [1, 1, 2, 2, 4, 4], "seed": [0, 1] * 3, "e": [0.0, 0.4] * 3})
    spec = curves(table, "m", "e", title="", x_title="m", y_title="e").to_dict()
    means = next(data for data in spec["datasets"].values() if "low" in data[0])
    assert all(line["low"] == 0 and line["high"] <= 0.4 for line in means)
    assert "(−2.34 to 2.74), 2 runs" in json.dumps(spec, ensure_ascii=False)


def test_one_seed_has_points_but_no_interval():
    spec = learning_curves(rows(seeds=1)).to_dict()
    means = next(data for data in spec["datasets"].values() if data and "low" in data[0])
    assert all(line["low"] is None for line in means)
    assert "1 run, no interval" in json.dumps(spec)
    assert files(spec).svg.startswith("<svg")


def test_one_place_and_one_arm_can_be_drawn():
    table = rows(arms=("MLP",))
    assert files(learning_curves(table[table["m"] == 40])).svg.startswith("<svg")


def test_an_empty_table_gives_a_note():
    for chart in (learning_curves(pd.DataFrame()), differences(pd.DataFrame())):
        assert re.search(r"There are no finished (rows|pairs)", files(chart).svg)
    alone = rows(arms=("ConvPool",))
    assert "no finished pairs of ConvPool layerwise and ConvPool" in files(differences(alone)).svg


def test_an_arm_missing_at_one_size_is_told():
    table = rows()
    table = table[(table["arm"] != "SVM") | (table["m"] > 10)]
    assert "not measured" in json.dumps(learning_curves(table).to_dict())


def test_column_names_with_dots_and_quotes():
    table = rows(2).rename(columns={"m": "task.m", "test_error": "it's [e]", "arm": "the arm's"})
    chart = curves(table, "task.m", "it's [e]", arm="the arm's", title="t", x_title="m", y_title="e")
    svg = files(chart).svg
    assert "MLP" in svg
    assert svg.count("fill-opacity") > 30


def test_the_same_arm_has_the_same_colour_in_every_figure():
    three = colours(learning_curves(rows()))
    two = colours(learning_curves(rows(arms=("SVM", "ConvPool layerwise", "ConvPool"))))
    assert three["SVM"] == two["SVM"]
    assert three["ConvPool"] == two["ConvPool"] == theme.BLUE
    assert two["ConvPool layerwise"] == theme.LIGHTER[theme.BLUE]
    assert len(set(three.values())) == 3


def test_controls_are_grey_and_dashed_whatever_their_name():
    named, said = theme.styles(["ConvPool, scrambled", "a control"], controls=["ConvPool, scrambled"])
    assert (named.shape, said.shape) == ("cross", "diamond"), "told apart where dashes are not shown"
    pair = theme.styles(["CNN, depth 2", "CNN, depth 4"])
    assert len({style.shape for style in pair}) == len({style.dash for style in pair}) == 2
    assert named.color == said.color == theme.GREY
    assert theme.SOLID not in (named.dash, said.dash)
    assert named.dash != said.dash


def test_values_of_one_quantity_get_a_ramp_and_never_the_same_style_twice():
    for count in (2, 3, 7, 12):
        found = theme.styles([f"n = {2**place}" for place in range(count)])
        assert len(set(found)) == count
        assert found[0].color == theme.RAMP[0]
        assert found[-1].color == theme.RAMP[-1]
    assert theme.styles(["n = 10", "MLP"])[1].color == theme.VERMILION


def test_many_unknown_arms_stay_apart():
    assert len(set(theme.styles([f"own {number}" for number in range(20)]))) == 20


def test_every_colour_has_one_for_the_dark_page():
    used = {*theme.FAMILIES.values(), *theme.LIGHTER.values(), *theme.RAMP, *theme._SPARE, theme.GREY}
    assert used <= theme.DARK.keys()


def test_arms_come_in_the_order_given_then_as_they_appear():
    chart = learning_curves(rows(), arms=["SVM", "absent"])
    assert list(colours(chart)) == ["SVM", "ConvPool", "MLP"]


def test_facets_become_panels_as_wide_as_their_container():
    table = pd.concat([rows(2, draw=n).assign(n=n) for n in (4, 10, 20)])
    made = files(learning_curves(table, facet="n"))
    parts = panels(made.spec)
    assert [part["title"] for part in parts] == ["n = 4", "n = 10", "n = 20"]
    for number, part in enumerate(parts):
        assert part["width"] == "container"
        assert {param["name"] for param in part["params"]} == {f"picked{number}", f"near{number}", "shown"}
        assert '"legend": {' not in json.dumps(part["layer"])
        alt.Chart.from_dict({**part, "width": 300})  # each is a valid chart of its own
        assert files({**part, "width": 300}).svg.startswith("<svg")
    assert made.csv.splitlines()[0] == "arm,m,test_error,seed,n"
    assert len(made.csv.splitlines()) == 1 + len(table)


def test_a_chart_of_someone_else_keeps_its_legend():
    own = alt.Chart(pd.DataFrame({"x": [1, 2], "c": ["a", "b"]})).mark_point().encode(x="x", color="c")
    (part,) = panels(own.to_dict())
    assert part["encoding"]["color"].get("legend", "kept") == "kept"
    assert _csv(own.to_dict()) == "x,c\n1,a\n2,b\n"


def test_pairs_are_matched_by_seed_and_place():
    table = rows(3, arms=tuple(ERRORS))
    table = table[~((table["arm"] == "ConvPool") & (table["m"] == 10) & (table["seed"] == 1))]
    got = pair_up(table, "m", "test_error", ("ConvPool layerwise", "ConvPool"))
    assert len(got) == 3 * len(SIZES) - 1
    wide = table.pivot(index=["m", "seed"], columns="arm", values="test_error").loc[(20, 2)]
    line = got[(got["m"] == 20) & (got["seed"] == 2)]
    assert line["difference"].item() == pytest.approx(wide["ConvPool layerwise"] - wide["ConvPool"])


def test_paired_differences_show_the_band():
    svg = files(differences(rows(arms=("ConvPool", "ConvPool layerwise")))).svg
    assert "equivalent: within ± 0.02" in svg
    assert "ConvPool layerwise − ConvPool" in svg


def test_strips_meet_halfway_also_on_a_logarithmic_axis():
    bounds = strips([10, 40], log=True)
    assert bounds[1] == pytest.approx(20)
    assert bounds[0] < 10
    assert bounds[-1] > 40
    assert strips([5], log=False) == [4.5, 5.5]


def test_more_runs_than_altair_takes_by_default():
    table = rows(seeds=300)
    assert len(table) > 5000
    assert len(_csv(learning_curves(table).to_dict()).splitlines()) == 1 + len(table)


def test_importing_the_charts_imports_no_heavy_library():
    heavy = {"altair", "pandas", "numpy", "scipy", "vl_convert", "jax"}
    code = (
        "import sys, whyconv.report.charts, whyconv.papers.brutzkus.pictures, whyconv.measure.intervals;"
        f"print(*({heavy} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def counts_table():
    values = {8: (1, 2), 16: (40, 60), 64: (400, 400)}
    lines = [
        {"arm": arm, "n": n, "seed": seed, "steps": values[n][seed]}
        for arm in ("CNN", "FCN")
        for n in values
        for seed in (0, 1)
    ]
    return pd.DataFrame(lines)


def test_a_logarithmic_axis_has_powers_of_ten_and_a_ceiling_says_what_it_means():
    chart = curves(
        counts_table(), "n", "steps", title="", x_title="n", y_title="steps", log_x=True, log_y=True,
        ceiling=(400, "not reached within 400 steps"),
    )  # fmt: skip
    made = files(chart)
    assert "not reached within 400 steps" in made.svg
    for power in (1, 10, 100):
        assert f">{power}</text>" in made.svg
    scales = re.findall(r'"scale": \{[^}]*"type": "log"', json.dumps(chart.to_dict()))
    assert len(scales) >= 2


def test_a_long_title_of_a_file_has_lines_and_legends_show_shapes_without_dashed_edges():
    title = "Training errors (one arm lies on another, and a third one on both; so does a fourth one)"
    made = files(curves(rows(), "m", "test_error", title=title, x_title="m", y_title="error"))
    assert f">{title}</" not in made.svg and ">Training errors (one arm" in made.svg
    assert made.spec["title"].startswith(title), "the page wraps its own"
    symbols = re.findall(r'role-legend-symbol".*?<path[^>]*stroke-width="(\d+)"', made.svg)
    assert symbols and set(symbols) == {"0"}


def test_large_numbers_on_a_logarithmic_axis_are_written_as_powers():
    table = counts_table().assign(steps=lambda t: t["steps"] * 1e9)
    made = files(curves(table, "n", "steps", title="", x_title="n", y_title="steps", log_y=True))
    assert ">1e+9</text>" in made.svg and "1000000000" not in made.svg


def test_of_thousands_of_runs_whole_seeds_are_drawn_and_all_are_averaged():
    seeds, sizes = 5000, (10, 20)
    rows = [{"arm": "A", "m": m, "seed": seed, "error": seed / seeds} for seed in range(seeds) for m in sizes]
    names = {"title": "T", "x_title": "m", "y_title": "error"}
    chart = curves(pd.DataFrame(rows), "m", "error", **names).to_dict()
    assert chart["title"] == "T (single runs: the first 4,000 of 5,000 seeds)"
    drawn = _csv(chart).splitlines()
    assert len(drawn) == 1 + 8000 and sum(",3999," in line or line.endswith(",3999") for line in drawn) == 2
    assert json.dumps(chart).count(f'"count": {seeds}') >= len(sizes)
    few = curves(pd.DataFrame(rows[:8000]), "m", "error", **names).to_dict()
    assert few["title"] == "T"


def test_curves_that_lie_on_each_other_are_named():
    def means(**values):
        lines = [
            {"arm": arm, "m": m, "mean": value}
            for arm, each in values.items()
            for m, value in zip((10, 20, 40), each, strict=True)
        ]
        return pd.DataFrame(lines)

    apart = means(A=(0.5, 0.4, 0.1), B=(0.5, 0.38, 0.1), C=(0.2, 0.1, 0.0))
    assert coinciding(apart, "arm", "m") == ""
    close = means(A=(0.5, 0.4, 0.1), B=(0.5, 0.402, 0.1), C=(0.2, 0.1, 0.0))
    assert coinciding(close, "arm", "m") == " (B lies on A)"
    many = means(A=(0, 0, 0), **{"A, broken": (0, 0, 0)}, B=(0, 0, 0), C=(1, 1, 1), D=(1, 1, 1))
    assert coinciding(many, "arm", "m") == " (“A, broken” and B lie on A; D lies on C)"
    assert coinciding(means(A=(1, 1e-3, 1e-6), B=(1, 2e-3, 1e-6)), "arm", "m") == " (B lies on A)"
    assert coinciding(means(A=(1, 1e-3, 1e-6), B=(1, 2e-3, 1e-6)), "arm", "m", log_y=True) == ""


@pytest.mark.parametrize(
    "values, domain",
    [((0.033, 0.8), (0.02, 1.0)), ((3, 470), (2, 500)), ((1, 10), (1, 10)), ((0.05, 0.05), (0.02, 0.1))],
)
def test_a_logarithmic_axis_fits_its_values(values, domain):
    assert _decades(pd.Series(values)) == pytest.approx(domain)


@pytest.mark.parametrize(
    "values, domain", [((0.1, 0.42), (0, 0.45)), ((-0.13, 0.99), (-0.15, 1)), ((0, 7), None)]
)
def test_an_axis_of_shares_fits_its_values(values, domain):
    found = _sensible(pd.Series(values))
    assert found == (None if domain is None else pytest.approx(domain))
