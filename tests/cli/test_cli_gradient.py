"""``whyconv exact gradient``: the numbers are the library's, a mistake is one sentence and exit code 2."""

import json
from fractions import Fraction

import numpy as np
import pytest

from whyconv.exact import coefficient, fourier_gap, partials


@pytest.fixture
def run(whyconv):
    return lambda line: whyconv("exact", "gradient", *line.split())


def test_numbers_are_those_of_the_library(run):
    code, out, _ = run("--n 40 --k 3 --activation erf --bias 1/2 --scale 0.2 --seed 7 --json")
    told = json.loads(out)
    weights = np.random.default_rng(7).standard_normal(40) * 0.2
    gradient = partials("erf", weights, 0.5, range(3))
    assert code == 0
    assert told["engine"]["name"] == "trapezoid"
    assert told["inside"]["smallest"]["value"] == pytest.approx(
        gradient[:3].smallest().value, rel=1e-12, abs=0
    )
    assert told["inside"]["largest"]["value"] == pytest.approx(gradient[:3].largest().value, rel=1e-12, abs=0)
    assert told["outside"]["largest"]["value"] == pytest.approx(
        gradient[3:].largest().value, rel=1e-12, abs=0
    )
    assert told["norm"]["value"] == pytest.approx(np.linalg.norm(gradient.value), rel=1e-12, abs=0)
    assert told["relative_step"]["value"] == pytest.approx(
        np.linalg.norm(gradient.value) / np.linalg.norm(weights), rel=1e-12, abs=0
    )
    assert told["readout"]["value"] == pytest.approx(
        abs(coefficient("erf", weights, 0.5, range(3)).value), rel=1e-12, abs=0
    )
    assert told["fourier_gap"]["value"] == pytest.approx(
        fourier_gap("erf", weights, 0.5, range(3)).gap.value, rel=1e-12, abs=0
    )


def test_a_gradient_below_float32_and_above_float64(run):
    """The finite-precision reading of Theorem 12 is a matter of the format."""
    _, out, _ = run("--n 1024 --k 10 --weights signs --json")
    told = json.loads(out)
    assert told["changed"] == {"float32": 0, "float64": 1024}
    assert told["eps"]["float64"] < told["relative_step"]["value"] < told["eps"]["float32"]


def test_text_names_engine_and_reason(run):
    code, out, _ = run("--n 32 --k 5 --activation clipped-relu --weights signs --scale 1/5 --bias -4/5")
    assert code == 0
    assert "krawtchouk: all weights are +-c" in out
    exact = partials("clipped-relu", [Fraction(1, 5)] * 32, Fraction(-4, 5), range(5))
    assert str(abs(exact[0])) in out
    assert str(abs(exact[31])) in out


def test_the_engine_that_is_named_is_the_one_that_was_used(run):
    """A saturated neuron: the integral comes first and loses all digits of g, the sum over inputs does not.

    Neither knows dL/du, as tanh(30) is 1 to more digits than a double has; the report says so.
    """
    code, out, _ = run("--n 8 --k 2 --bias 30")
    assert code == 0
    assert "engine              enumeration: n <= 20, error" in out
    assert "engine of dL/du     trapezoid" in out
    assert "relative error of dL/du above 1, no digit is right" in out
    told = json.loads(run("--n 8 --k 2 --bias 30 --json")[1])
    assert told["engine"]["name"] == "enumeration" and told["readout_engine"]["name"] == "trapezoid"
    assert told["worst_relative_error"] < 1e-8 and told["readout_relative_error"] > 1
    # tanh'(z) = 4 exp(-2 z) here, so the bits are independent factors
    weights = np.random.default_rng(0).standard_normal(8) / np.sqrt(8)
    factors = [
        np.where(np.arange(8) == other, np.sinh(2 * weights), np.cosh(2 * weights)) for other in (1, 0)
    ]
    exact = sorted(abs(4 * np.exp(-60) * each.prod()) for each in factors)
    found = [told["inside"][end]["value"] for end in ("smallest", "largest")]
    assert found == pytest.approx(exact, rel=1e-8, abs=0)


def test_an_engine_asked_for_is_named_with_it(run):
    told = json.loads(run("--n 8 --k 2 --bias 30 --engine enumeration --json")[1])
    assert told["engine"] == told["readout_engine"] == {"name": "enumeration", "reason": "asked for."}
    assert told["readout"]["value"] == 0 and told["readout_relative_error"] is None


def test_lattice_from_the_command_line(run):
    code, out, _ = run("--n 64 --k 6 --activation relu --den 256 --seed 1")
    assert code == 0
    assert "lattice" in out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--n 0", "1 <= k <= n"),
        ("--n 8 --k 9", "1 <= k <= n"),
        ("--n 8 --k 0", "1 <= k <= n"),
        ("--n 8 --k 2 --scale 1e-400", "above 0"),
        ("--n 8 --k 2 --scale 1e-400 --weights signs", "above 0"),
        ("--n 8 --k 2 --bias many", "--bias many"),
        ("--n 8 --k 2 --bias nan", "--bias nan"),
        ("--n 8 --k 2 --bias 1/0", "--bias 1/0"),
        ("--n 8 --k 2 --scale 1e400", "--scale 1e400"),
        ("--n 8 --k 2 --scale 0", "above 0"),
        ("--n 8 --k 2 --seed -1", "seed 0 or more"),
        ("--n 8 --k 2 --weights flat", "gaussian or signs"),
        ("--n 8 --k 2 --activation gelu", "choose one of tanh"),
        ("--n 8 --k 2 --engine magic", "choose one of trapezoid"),
        ("--n 21 --k 2 --engine enumeration", "n <= 20"),
        ("--n 8 --k 2 --activation relu --engine trapezoid", "derivative jumps"),
        ("--n 100 --k 2 --activation relu", "--den 1024"),
        ("--n eight", "integer"),
        ("--bits 8", "No such option"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(run, line, said):
    code, out, err = run(line)
    assert code == 2
    assert out == ""
    assert said in err
    assert len(err.strip().splitlines()) == 1
