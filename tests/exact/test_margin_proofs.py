"""Least-norm separators where it is hard: degenerate and nearly separable rows, last bits, bad proposals."""

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from margin_samples import DEGENERATE, last_bits, nearly, separable

from whyconv.exact.margins import margin_routes, max_margin
from whyconv.exact.margins.max_margin import GAP, NotSeparable, Proof, Undecidable, least_norm

EXTENDED = np.finfo(np.longdouble).eps < 1e-18
"""Not everywhere: where long double is double, proofs allow for more rounding, and less is decided."""


def certified(rows):
    """The separator; its certificate is looked at once more, in extended precision.

    Twice the gap: the vector was rounded when it was scaled.
    """
    found = least_norm(rows)
    precise = rows.astype(np.longdouble)
    lower, upper = (float(each) for each in max_margin.certified_range(precise, found))
    assert upper == pytest.approx(lower, rel=2 * GAP, abs=0)
    assert found.norm2 == pytest.approx(upper, rel=GAP, abs=0)
    assert (precise @ found.vector).min() == pytest.approx(1, rel=1e-9)
    assert (found.multipliers >= 0).all()
    return found


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_rows_and_their_last_bits(name, seed):
    rng = np.random.default_rng([12, seed])
    rows, known = DEGENERATE[name](rng)
    found = certified(rows).norm2
    moved = certified(last_bits(rng, rows)).norm2
    assert moved == pytest.approx(found, rel=1e-9, abs=0)
    if known is not None:
        assert found == pytest.approx(known, rel=1e-9, abs=0)
    if name.startswith("detection"):
        assert 2 <= found <= 10 * (1 + GAP)
    if name.startswith("rank"):
        flat = np.linalg.qr(rows.T, mode="r").T[:, :4]  # the same rows in four dimensions
        assert certified(flat).norm2 == pytest.approx(found, rel=1e-9, abs=0)
    if name.startswith("every"):
        assert certified(rows[::5]).norm2 == pytest.approx(found, rel=1e-9, abs=0)


@pytest.mark.parametrize("kernel", ["Haswell", pytest.param("Prescott", marks=pytest.mark.long)])
def test_the_same_on_other_processors_kernels(kernel):
    """OpenBLAS sums in another order; where there is no such kernel the variable does nothing."""
    chosen = "test_degenerate and (control or detection) or test_nearly"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider", __file__, "-k", chosen],
        env={**os.environ, "OPENBLAS_CORETYPE": kernel},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout


@pytest.mark.parametrize("distance", [1e-3, 1e-4, 1e-5, 5e-6, 1e-6, 1e-7])
def test_nearly_separable_and_just_not_separable_rows(distance):
    for seed in range(15):
        rows = nearly(np.random.default_rng(seed), distance)
        try:
            assert certified(rows).norm2 == pytest.approx(distance**-2, rel=1e-9, abs=0)
        except Undecidable as unknown:
            assert distance < (2e-6 if EXTENDED else 2e-4), "float64 holds 1e-9 only down to about 1e-6"
            assert unknown.separable
        with pytest.raises(NotSeparable, match=r"no vector separates these rows by .* has length \d"):
            least_norm(nearly(np.random.default_rng(seed), -distance))


def test_rows_that_touch_zero_are_not_separable_and_say_so_in_their_last_bits():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = separable(rng, 50, 8)
        for added in (-rows[0], -rows[0] - rows[1], -rows[:8].sum(axis=0), 0 * rows[0]):
            touching = np.vstack([rows, added])
            with pytest.raises(NotSeparable):
                least_norm(touching)
            if added.any():
                with pytest.raises(NotSeparable):
                    least_norm(last_bits(rng, touching))


@pytest.mark.parametrize("scale", [1e-60, 1e-9, 1e9, 1e60])
def test_units_do_not_matter(scale):
    rows = separable(np.random.default_rng(1), 30, 8)
    found = certified(scale * rows)
    np.testing.assert_allclose(found.vector * scale, least_norm(rows).vector, rtol=1e-9)
    with pytest.raises(NotSeparable):
        least_norm(scale * np.vstack([rows, -rows[:1]]))


def test_rows_of_very_different_lengths():
    rng = np.random.default_rng(2)
    rows = separable(rng, 60, 4)
    long = rows * 10.0 ** rng.uniform(0, 4, 60)[:, None]
    certified(long)
    assert certified(np.vstack([rows, 1e7 * rows])).norm2 == pytest.approx(least_norm(rows).norm2, rel=1e-9)
    with pytest.raises(NotSeparable):
        least_norm(np.vstack([long, -1e-7 * long[:1]]))


def test_one_row_and_one_column():
    assert certified(np.array([[3.0, 4.0]])).norm2 == pytest.approx(1 / 25, rel=1e-12)
    assert certified(np.array([[2.0], [5.0]])).norm2 == pytest.approx(1 / 4, rel=1e-12)
    with pytest.raises(NotSeparable):
        least_norm(np.array([[2.0], [-5.0]]))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (np.array([[1.0, np.nan]]), "matrix of finite numbers"),
        (np.array([[1.0, np.inf]]), "matrix of finite numbers"),
        (np.zeros((0, 3)), "matrix of finite numbers"),
        (np.ones(3), "matrix of finite numbers"),
        (np.array([[1e200, 1.0]]), "lengths between 1e-70 and 1e"),
        (np.array([[1e-200, 0.0], [1.0, 0.0]]), "lengths between 1e-70 and 1e"),
    ],
)
def test_what_is_no_set_of_rows_is_refused_and_not_called_inseparable(rows, why):
    with pytest.raises(ValueError, match=why) as refused:
        least_norm(rows)
    assert not isinstance(refused.value, NotSeparable)


@pytest.mark.parametrize("worth", [np.nan, 0.0, -1.0, 1.0])
def test_another_route_is_taken_where_the_first_proposes_nonsense(worth, monkeypatch):
    def nonsense(units, sides, patient):
        return np.full(units.shape[1], worth), np.full(len(units), abs(worth))

    rng = np.random.default_rng(3)
    rows, expected = DEGENERATE["Proposition 6.1, its control, n=6"](rng)
    monkeypatch.setattr(margin_routes, "interior_point", nonsense)
    assert certified(rows).norm2 == pytest.approx(expected, rel=1e-9)
    random = separable(rng, 30, 6)
    least = certified(random).norm2
    with pytest.raises(NotSeparable):
        least_norm(np.vstack([random, -random[:2].sum(axis=0)]))
    monkeypatch.undo()
    assert certified(random).norm2 == pytest.approx(least, rel=1e-9)


def test_what_no_route_solves_is_undecidable_and_never_not_separable(monkeypatch):
    rows = separable(np.random.default_rng(4), 30, 6)
    best = least_norm(rows)

    def never(units, sides):
        yield [(-best.vector, np.ones(30))]

    def almost(units, sides):
        yield [(best.vector + 1e-3, best.multipliers)]

    monkeypatch.setattr(margin_routes, "proposals", never)
    with pytest.raises(Undecidable, match="whether 30 rows can be separated is not decided") as unknown:
        least_norm(rows)
    assert not unknown.value.separable and not isinstance(unknown.value, ValueError)
    monkeypatch.setattr(margin_routes, "proposals", almost)
    with pytest.raises(Undecidable, match="30 rows can be separated, but the least") as unknown:
        least_norm(rows)
    assert unknown.value.separable


def test_negative_multipliers_prove_nothing():
    """(1, -0.4) would give 9 as a lower bound, where v = 1 does it."""
    proof = Proof(np.array([[1.0], [2.0]]), np.array([1.0, 2.0]))
    proof.consider(np.array([-1.0]), np.array([1.0, -0.4]))
    assert proof.lower == pytest.approx(1, rel=1e-12) and proof.upper == np.inf
    assert proof.length == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_a_proof_holds_in_exact_arithmetic(seed):
    """The bounds of any vector and multipliers, compared with fractions."""
    rng = np.random.default_rng(seed)
    rows = nearly(rng, 10.0**-seed, 30, 6)
    best = margin_routes.interior_point(rows, np.ones(30), patient=True)
    vector, multipliers = best[0] * 1.37, np.maximum(0.0, best[1] * 0.81 + 1e-3 * rng.random(30))
    proof = Proof(rows, np.linalg.norm(rows, axis=1))
    proof.consider(vector, multipliers)
    exact = [[Fraction(x) for x in row] for row in rows.tolist()]
    v, weights = ([Fraction(x) for x in each.tolist()] for each in (vector, multipliers))
    least = min(sum(a * b for a, b in zip(row, v, strict=True)) for row in exact)
    combined = [sum(w * row[j] for w, row in zip(weights, exact, strict=True)) for j in range(6)]
    lower = sum(weights) ** 2 / sum(c * c for c in combined)
    spare = 1e-9 if EXTENDED else 1e-6
    assert float(lower) * (1 - spare) <= proof.lower <= float(lower) * (1 + 1e-15)
    if least <= 0:
        assert proof.upper == np.inf
    else:
        upper = sum(x * x for x in v) / least**2
        assert float(upper) * (1 - 1e-15) <= proof.upper <= float(upper) * (1 + spare)


def test_a_linear_program_finds_a_combination_that_vanishes():
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.6, 0.8, 0.0]])
    (found,) = margin_routes.vanishing(rows)
    assert found.min() >= 0 and found.sum() == pytest.approx(1) and np.abs(found @ rows).max() < 1e-15
    assert margin_routes.vanishing(rows[:2]) == []
