"""Numbers, seeds and mathematics as readers meet them."""

import doctest
import math
from html import escape

import pandas as pd
import pytest

from whyconv import text
from whyconv.measure.intervals import Interval
from whyconv.report import layers, notation, wording
from whyconv.report.html import TEMPLATES
from whyconv.report.notation import prose
from whyconv.report.wording import number
from whyconv.text import control_said, count, duration, undecided
from whyconv.verdict import Evidence, worst

VALUES = TEMPLATES.get_template("values.html").module


@pytest.mark.parametrize("module", [layers, notation, text, wording])
def test_the_examples_in_the_docstrings(module):
    tried = doctest.testmod(module)
    assert tried.attempted
    assert not tried.failed


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"), (0.0, "0"), (-3, "−3"), (0.5, "0.5"), (12.345678, "12.35"), (123456.7, "123,457"),
        (4294967296, "4,294,967,296"), (1e-3, "0.001"), (9.9999e-5, "1 × 10<sup>−4</sup>"),
        (-2e30, "−2 × 10<sup>30</sup>"), (math.inf, "∞"), (-math.inf, "−∞"), (math.nan, "not a number"),
        (False, "no"), ("<b>", "&lt;b&gt;"),
    ],
)  # fmt: skip
def test_numbers(value, words):
    assert number(value) == words


def test_many_numbers_wait_behind_a_click():
    got = VALUES.numbers({f"n{place}": place for place in range(7)}, at_most=5)
    assert "2 more" in got
    assert got.count("<dt>") == 7
    assert VALUES.numbers({}) == ""


def test_undecided_says_why_and_whether_more_seeds_help():
    assert undecided(Evidence("undecided"), 1).endswith(
        "one repetition has no interval; more seeds are needed."
    )
    assert undecided(Evidence("undecided"), 5).endswith("more seeds may decide.")
    stuck = worst(Evidence("undecided"), Evidence("undecided", why="no admissible size"))
    assert undecided(stuck, 5) == "Undecided: no admissible size; more seeds do not help."
    assert undecided(worst(stuck, Evidence("fails")), 5) == ""


@pytest.mark.parametrize(
    ("verdict", "control", "said", "good"),
    [
        ("consistent", "fails", "loses it", True), ("fails", "consistent", "passes, as it must", True),
        ("consistent", "consistent", "did not change the verdict", False),
        ("consistent", "undecided", "undecided, so it proves nothing yet", False),
        ("undecided", "undecided", "undecided, as the verdict is", True),
        ("holds", "vacuous", "vacuous, as it must be", True),
    ],
)  # fmt: skip
def test_a_control_that_flips_is_good_news(verdict, control, said, good):
    assert control_said(verdict, control, "loses it") == (said, good)


def test_small_words():
    assert (count(0, "row"), count(1, "row"), count(1234, "row")) == ("no rows", "1 row", "1,234 rows")
    assert [duration(s) for s in (0.25, 60, 600, 7200, None)] == ["250 ms", "60.0 s", "10 min", "2.0 h", ""]
    assert VALUES.badge("incomplete") == '<span class="badge unknown">incomplete</span>'


@pytest.mark.parametrize(
    ("plain", "html"),
    [
        ("|w_i^(t)| <= eta_1 (t + 1)", "|w<sub>i</sub><sup>(t)</sup>| ≤ η<sub>1</sub> (t + 1)"),
        ("2^(n-1) inputs, 8 d^3", "2<sup>n−1</sup> inputs, 8 d<sup>3</sup>"),
        ("(1-delta)(1-4e^(-d))", "(1−δ)(1−4e<sup>−d</sup>)"),
        ("-0.11 [-0.34, 0.1]", "−0.11 [−0.34, 0.1]"),
        ("v* = +-80d, j != 1", "v* = ±80d, j ≠ 1"),
        ("sum_{s<=n-1} C(l-2,s)", "Σ<sub>s≤n−1</sub> C(l−2,s)"),
    ],
)
def test_mathematics_is_set(plain, html):
    assert prose(plain) == html


@pytest.mark.parametrize(
    "plain",
    ["max-pooling", "3-layer", "pattern_dim = 10", "LW_CNN", "1e-3", "x86_64"],
)
def test_other_text_is_left_alone(plain):
    assert prose(plain) == plain


def test_code_is_left_alone_and_everything_escaped():
    assert prose("`a_1 <= b` & <i>") == "<code>a_1 &lt;= b</code> &amp; &lt;i&gt;"
    assert prose("--set m_1=n-1 & a_1") == '<code class="option">--set m_1=n-1</code> &amp; a<sub>1</sub>'


def test_powers_may_be_negative_or_broken():
    assert prose("O(eps^-2 n^3)") == "O(ε<sup>−2</sup> n<sup>3</sup>)"
    assert prose("c^2 n^1.5 sqrt(q)/T.") == "c<sup>2</sup> n<sup>1.5</sup> √(q)/T."


def test_a_line_breaks_before_an_interval_never_inside():
    frame = pd.DataFrame({"a": [Interval(0.5, 0.25, 1.0, 3), "22 [−11, 55] points, 3 seeds"]})
    assert list(wording.cells(frame)) == [["0.5 [0.25,\xa01]"], ["22 [−11,\xa055] points, 3 seeds"]]
    assert prose("1.41 [-inf, inf], x_{j+1}") == "1.41 [−∞, ∞], x<sub>j+1</sub>"


def test_json_is_left_as_it_is():
    nested = '{"name": "a_1", "options": {"rho": {"eta": -1}}, "of": [1e-3, -2]}'
    said = str(prose(f"set {nested} for x_1 - 2, [.1, .2]"))
    assert said == f"set <code>{escape(nested)}</code> for x<sub>1</sub> − 2, [.1, .2]"
