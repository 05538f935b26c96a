"""Roots that are exact or refused, and exponentials and logarithms in parts."""

from fractions import Fraction

import pytest

from whyconv.exact.irrational import Exponential, Logarithm, root


@pytest.mark.parametrize(("square", "expected"), [(0, 0), (144, 12), (Fraction(9, 16), Fraction(3, 4))])
def test_roots_are_exact(square, expected):
    assert root(square) == expected


@pytest.mark.parametrize("no_square", [2, Fraction(1, 2), Fraction(4, 3), -4, 10**40 + 1])
def test_other_roots_are_refused(no_square):
    with pytest.raises(ValueError):
        root(no_square)


def test_parts_as_numbers():
    assert float(Exponential(4, -1)) == pytest.approx(1.4715177646857693)  # 4/e
    assert float(Exponential(Fraction(-1, 2), Fraction(1, 2))) == pytest.approx(-0.8243606353500641)  # -√e/2
    assert float(Logarithm(3, 2)) == pytest.approx(2.0794415416798357)  # 3 ln 2
    assert float(Logarithm(1, Fraction(1, 8))) == pytest.approx(-2.0794415416798357)
    assert float(Logarithm(2, 2, 2)) == pytest.approx(0.9609060278364028)  # 2 (ln 2)²
    assert float(Logarithm(1, 2**5000)) == pytest.approx(3465.735902799727)  # too large for a float
