"""Exact Fourier coefficients of a neuron on uniform bits: one front end for five engines.

A neuron is s(<w, x> + b), x uniform on {-1, 1}^n; its coefficient at a set A of bits is

    shat(A) = E[chi_A(x) s(<w, x> + b)],    chi_A(x) = prod_{i in A} x_i.

With the hinge loss and a parity chi_I as target, these *are* the gradients at initialisation (Malach &
Shalev-Shwartz, Theorem 12): dL/dw_j = -u s'hat(I xor {j}), dL/du = -shat(I), dL/db = -u s'hat(I). *Exact*
means: of the population, not of a sample. Only rounding remains; a result carries an estimate of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite, sqrt
from typing import Any

from whyconv.errors import UserError
from whyconv.exact.fourier import enumeration, gaussian, krawtchouk, lattice, meet, trapezoid
from whyconv.exact.fourier.activations import Activation, resolve
from whyconv.exact.fourier.neuron import Neuron, Weights
from whyconv.exact.fourier.scaled import Choice, Floats, Scaled
from whyconv.lazy import NDArray, np

Real = float | Fraction
ENGINES: dict[str, Any] = {
    "trapezoid": trapezoid,
    "krawtchouk": krawtchouk,
    "meet": meet,
    "lattice": lattice,
    "enumeration": enumeration,
}
PROMISED = 1e-10
"""Largest relative error for which the first choice of an engine is final; above it n <= 20 is enumerated."""


@dataclass(frozen=True)
class FourierGap:
    """min over I of |g_j| (``relevant``), max outside I (``irrelevant``), and their difference ``gap``."""

    relevant: Scaled
    irrelevant: Scaled

    @classmethod
    def of(cls, gradient: Scaled, member: NDArray[np.bool_]) -> FourierGap:
        """From all g_j and the mask of I; the term of an empty set of bits is 0."""
        return cls(
            gradient[member].smallest() if member.any() else Scaled(0.0),
            gradient[~member].largest() if not member.all() else Scaled(0.0),
        )

    @property
    def gap(self) -> Scaled:
        """relevant - irrelevant; positive if one gradient step separates the bits of I from the others."""
        return self.relevant - self.irrelevant


@dataclass(frozen=True)
class Gaussian:
    """Weights independent N(0, ``std``^2); None is 1/sqrt(n)."""

    std: float | None = None


@dataclass(frozen=True)
class Signs:
    """Weights +-``scale`` with any distribution of the signs; None is 1/sqrt(n)."""

    scale: Real | None = None


def choose(activation: str | Activation, weights: Weights, bias: Real = 0.0) -> Choice:
    """The engine that :func:`coefficient` and :func:`partials` try first for this neuron, and why.

    Computes nothing. If the result's error estimate is above 1e-10 and n <= 20, they also enumerate the
    inputs and keep the better result, whose ``choice`` names the engine.
    """
    return _choose(resolve(activation), Neuron.checked(weights, bias, ()))


def coefficient(
    activation: str | Activation,
    weights: Weights,
    bias: Real,
    subset: Iterable[int],
    derivative: bool = False,
    engine: str | None = None,
) -> Scaled:
    """shat(A) = E[chi_A(x) s(<w, x> + b)]; with ``derivative`` s'hat(A).

    ``subset`` = A, bits counted from 0; w = ``weights``, b = ``bias``: floats or Fractions, used exactly.
    ``engine`` None starts with :func:`choose`. Cost: that of the engine; n = 1024 takes 0.1 s.
    """
    return _run("coefficient", activation, Neuron.checked(weights, bias, subset), engine, derivative)


def partials(
    activation: str | Activation,
    weights: Weights,
    bias: Real,
    subset: Iterable[int],
    engine: str | None = None,
) -> Scaled:
    """g_j = s'hat(I xor {j}) for j = 0..n-1: minus the gradient in w_j for target chi_I and readout u = 1.

    ``subset`` = I; the rest as in :func:`coefficient`. All n together cost about as much as one.
    """
    return _run("partials", activation, Neuron.checked(weights, bias, subset), engine)


def fourier_gap(
    activation: str | Activation,
    weights: Weights,
    bias: Real,
    subset: Iterable[int],
    engine: str | None = None,
) -> FourierGap:
    """min_{j in I} |g_j| - max_{j not in I} |g_j| of :func:`partials` (Barak et al. 2022, section 4).

    One large step of gradient descent finds the k bits if the gap is positive and above the noise.
    """
    neuron = Neuron.checked(weights, bias, subset)
    return FourierGap.of(_run("partials", activation, neuron, engine), neuron.member)


def expected_square(
    activation: str | Activation,
    n_bits: int,
    size: int,
    bias: Real = 0.0,
    law: Gaussian | Signs = Gaussian(),
    derivative: bool = False,
) -> Scaled:
    """E over the weights of shat(A)^2 (with ``derivative``: s'hat(A)^2) for a set of ``size`` bits of n.

    Gaussian weights: a two-dimensional integral, for analytic activations (:mod:`gaussian`).
    Signs: the square is the same for every sign vector; Krawtchouk sum or, if analytic, the trapezoid.
    """
    activation = resolve(activation)
    if not 0 <= size <= n_bits or n_bits < 1:
        raise UserError(
            f"A set of {size} of {n_bits} bits was asked for; give 0 <= size <= n_bits, n_bits >= 1."
        )
    scale = law.std if isinstance(law, Gaussian) else law.scale
    scale = 1 / sqrt(n_bits) if scale is None else scale
    if not (isfinite(scale) and scale > 0 and isfinite(bias)):
        raise UserError(f"The law {law} with bias {bias} was given; both must be finite, the scale above 0.")
    if isinstance(law, Signs):
        return coefficient(activation, [scale] * n_bits, bias, range(size), derivative).squared()
    if activation.log_transform is None:
        raise UserError(
            f"The mean over Gaussian weights was given {activation.name}, whose derivative jumps; take "
            "tanh, sigmoid or erf, or weights of one size with law=Signs()."
        )
    return gaussian.expected_square(activation, n_bits, size, float(bias), float(scale), derivative)


def expected_gradient_square(
    activation: str | Activation, n_bits: int, size: int, bias: Real = 0.0, law: Gaussian | Signs = Gaussian()
) -> Scaled:
    """E over w of sum_j g_j^2 = k E s'hat(k-1 bits)^2 + (n-k) E s'hat(k+1 bits)^2, k = ``size``, u = 1.

    The left side of Theorem 12 for one neuron; for k = 0 and k = n one term vanishes.
    """
    found = Scaled(0.0)
    if size > 0:
        found += expected_square(activation, n_bits, size - 1, bias, law, derivative=True) * size
    if size < n_bits:
        found += expected_square(activation, n_bits, size + 1, bias, law, derivative=True) * (n_bits - size)
    return found


def level_weights(
    activation: str | Activation, weights: Weights, bias: Real, derivative: bool = False
) -> Floats:
    """W^m[s] = sum over |A| = m of shat(A)^2, m = 0..n, by a fast Walsh-Hadamard transform; n <= 20."""
    neuron = Neuron.checked(weights, bias, ())
    return enumeration.level_weights(resolve(activation), neuron, derivative)


def _choose(activation: Activation, neuron: Neuron) -> Choice:
    """The rule, best engine first. Analytic and piecewise linear activations share only enumeration and, for
    weights +-c, Krawtchouk."""
    if activation.log_transform is not None:
        return Choice("trapezoid", f"{activation.name} is analytic: one integral, for any weights and any n.")
    if neuron.magnitude is not None:
        return Choice("krawtchouk", "all weights are +-c: n + 1 values of <w, x>, summed in exact rationals.")
    if neuron.n_bits <= 30:
        return Choice("meet", "n <= 30: two halves of at most 2^15 sums, counted in exact integers.")
    if not lattice.too_large(neuron):
        return Choice("lattice", "the weights lie on a coarse lattice: the law of <w, x> in exact integers.")
    if neuron.n_bits <= meet.MOST_BITS:
        return Choice("meet", "n <= 44: two halves of at most 2^22 sums, counted in exact integers.")
    raise UserError(
        f"No exact engine takes {activation.name} with n = {neuron.n_bits} general weights; round them with "
        "on_lattice(weights, 1024) (--den 1024), or take weights +-c, n <= 44, or an analytic activation."
    )


def _refusal(engine: str, activation: Activation, neuron: Neuron) -> str | None:
    """Why an engine requested by name cannot do this; engines refuse sizes themselves."""
    if engine not in ENGINES:
        return f"Engine {engine!r} was given; choose one of {', '.join(ENGINES)}."
    if engine == "trapezoid" and activation.log_transform is None:
        return (
            f"The trapezoid engine was given {activation.name}, whose derivative jumps, so that its "
            "integral converges like 1/t; omit the engine to get an exact one."
        )
    if engine in ("meet", "lattice") and activation.pieces is None:
        return (
            f"The {engine} engine was given {activation.name}, which is not piecewise linear; take the "
            "trapezoid engine."
        )
    return None


def _run(
    task: str, activation: str | Activation, neuron: Neuron, engine: str | None, *options: bool
) -> Scaled:
    activation = resolve(activation)
    if engine is not None:
        if (reason := _refusal(engine, activation, neuron)) is not None:
            raise UserError(reason)
        asked = getattr(ENGINES[engine], task)(activation, neuron, *options)
        return replace(asked, choice=Choice(engine, "asked for."))
    choice = _choose(activation, neuron)
    first = getattr(ENGINES[choice.engine], task)(activation, neuron, *options)
    worst = float(np.max(first.relative_error))
    if worst > PROMISED and neuron.n_bits <= enumeration.MOST_BITS:
        # A saturated or symmetric neuron of few bits, where integrand or result cancels.
        second = getattr(enumeration, task)(activation, neuron, *options)
        error = float(np.max(second.relative_error))
        if error < worst:
            reason = f"n <= 20, error {error:.0e}: better than {choice.engine} here, with {worst:.0e}."
            return replace(second, choice=Choice("enumeration", reason))
    return replace(first, choice=choice)
