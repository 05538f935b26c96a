"""Roots, exponentials and logarithms of rational numbers, kept in exact parts instead of rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

Rational = int | Fraction


def root(x: Rational) -> Fraction:
    """√x as a fraction; a ValueError if x has no rational root."""
    x = Fraction(x)
    found = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    if found * found != x:
        raise ValueError(f"The root of {x} is not a fraction.")
    return found


@dataclass(frozen=True)
class Exponential:
    """factor · e^exponent. A sum of them is a tuple; its rational part is the one with exponent 0."""

    factor: Rational
    exponent: Rational

    def __float__(self) -> float:
        return float(self.factor) * math.exp(self.exponent)


@dataclass(frozen=True)
class Logarithm:
    """factor · (ln argument)^power."""

    factor: Rational
    argument: Rational
    power: int = 1

    def __float__(self) -> float:
        argument = Fraction(self.argument)
        logarithm = math.log(argument.numerator) - math.log(argument.denominator)
        return float(self.factor) * logarithm**self.power
