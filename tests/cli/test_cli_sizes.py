"""``whyconv exact sizes``: what it prints, for people and for programs, and what it refuses."""

import json

import pytest
from typer.testing import CliRunner

from whyconv.cli.exact import exact_app
from whyconv.cli.sizes import report, sizes, text
from whyconv.errors import UserError
from whyconv.papers.malach.exact.bounds import derived_terms, stated_terms


def test_the_report_is_consistent():
    told = report(32, 5, 0.1, 0.1)
    q, steps = told["sizes"]["q"], told["sizes"]["T"]
    assert told["terms"]["corrected"]["terms"] == pytest.approx(
        stated_terms(32, 5, q, steps), rel=1e-9, abs=0
    )
    assert told["terms"]["corrected"]["sum"] <= 0.05
    shared = stated_terms(32, 5, q, steps)[0]
    assert told["terms"]["lcn"]["terms"][0] == pytest.approx(shared / 32, rel=1e-9, abs=0)
    printed, least = told["terms"]["printed"], told["terms"]["least"]
    for row in (printed, least):
        assert row["terms"] == pytest.approx(derived_terms(32, 5, q, steps, row["eta"]), rel=1e-9, abs=0)
    assert printed["terms"][0] / told["terms"]["corrected"]["terms"][0] == pytest.approx(steps)
    # at the minimum of a x^2 + b / x the second part is twice the first
    assert least["terms"][1] / least["terms"][0] == pytest.approx(2, rel=1e-9)
    assert sum(least["terms"][:2]) < 0.2 * sum(told["terms"]["corrected"]["terms"][:2])
    times = least["eta"] / told["terms"]["corrected"]["eta"]
    assert least["terms"][2] / told["terms"]["corrected"]["terms"][2] == pytest.approx(times, rel=1e-9)
    orders = told["corollary"]
    assert orders["corrected"]["q"] / orders["printed"]["q"] == pytest.approx(25)
    assert orders["corrected"]["T"] / orders["printed"]["T"] == pytest.approx(5)
    json.dumps(told, allow_nan=False)


def test_a_person_sees_the_sizes_and_both_readings():
    told = text(report(32, 5, 0.1, 0.1))
    for words in (
        "131,203,039,265 filters",
        "2,622,750,066 steps",
        "as printed",
        "log^4 n",
        "log^2 n",
        "is 10 times that",
    ):
        assert words in told
    assert max(map(len, told.splitlines())) <= 110


def test_one_bit_has_sizes_and_no_corollary():
    """k = log2 n = 0 at n = 1: orders of zero filters and zero steps would be nonsense."""
    told = report(1, 1, 1.0, 0.5)
    assert told["corollary"] is None and told["sizes"]["q"] > 100
    assert text(told).endswith("Corollary 5 has k = log2 n, so its orders need n >= 2.")
    assert report(2, 1, 1.0, 0.5)["corollary"]["corrected"] == {
        "q": 8,
        "T": 8,
        "logs": ["log^4 n", "log^2 n"],
    }


def test_the_command(capsys):
    sizes(4, 2, as_json=True)
    assert json.loads(capsys.readouterr().out)["sizes"]["T"] == 821_753
    sizes(4, 2)
    assert "6,594,497 filters" in capsys.readouterr().out
    with pytest.raises(UserError, match="k = 5, n = 4"):
        sizes(4, 5)


def test_it_is_a_command_of_exact():
    done = CliRunner().invoke(exact_app, ["sizes", "--n", "4", "--k", "2", "--eps", "0.5", "--json"])
    assert done.exit_code == 0 and json.loads(done.stdout)["sizes"]["q"] == 270_274
    assert CliRunner().invoke(exact_app, ["sizes", "--n", "4"]).exit_code == 2
