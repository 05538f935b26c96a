"""Fourier coefficients by enumerating all 2^n inputs: the reference for the other engines, for n <= 20.

A sum of 2^n terms of both signs has an absolute error of about 1e-17: a coefficient of 1e-9 has 8 digits.
"""

from __future__ import annotations

from whyconv.errors import UserError
from whyconv.exact.fourier.activations import Activation
from whyconv.exact.fourier.neuron import Neuron
from whyconv.exact.fourier.scaled import Floats, Scaled
from whyconv.lazy import NDArray, np

MOST_BITS = 20
"""2^20 inputs take 0.1 s."""


def coefficient(activation: Activation, neuron: Neuron, derivative: bool) -> Scaled:
    """E[chi_A(x) s(<w,x> + b)], or with s', as the mean over all inputs. Cost 2^n."""
    scores = preactivations(activation, neuron)
    values = activation.evaluate(scores, derivative)
    codes = np.arange(len(values), dtype=np.uint32)
    odd = np.bitwise_count(codes & np.uint32(_code(neuron.member))) % 2
    return Scaled(
        float(np.mean(np.where(odd, -values, values))), 0.0, _doubt(activation, neuron, scores, derivative)
    )


def partials(activation: Activation, neuron: Neuron) -> Scaled:
    """s'hat(A xor {j}) for all j, from the whole spectrum. Cost n 2^n."""
    scores = preactivations(activation, neuron)
    values = activation.derivative(scores)
    toggled = _code(neuron.member) ^ (1 << np.arange(neuron.n_bits))
    return Scaled(
        walsh_hadamard(values)[toggled], 0.0, np.full(neuron.n_bits, _doubt(activation, neuron, scores, True))
    )


def spectrum(activation: Activation, neuron: Neuron, derivative: bool) -> Floats:
    """All 2^n coefficients; A has the index sum_{i in A} 2^i. Cost n 2^n."""
    return walsh_hadamard(activation.evaluate(preactivations(activation, neuron), derivative))


def level_weights(activation: Activation, neuron: Neuron, derivative: bool) -> Floats:
    """W^m[s] = sum over |A| = m of shat(A)^2, m = 0..n; their sum is E s^2 (Parseval)."""
    squares = spectrum(activation, neuron, derivative) ** 2
    sizes = np.bitwise_count(np.arange(len(squares), dtype=np.uint32))
    return np.bincount(sizes, weights=squares, minlength=neuron.n_bits + 1).astype(np.float64)


def preactivations(activation: Activation, neuron: Neuron) -> Floats:
    """<w, x> + b for all x; bit i of the index is 1 where x_i = -1.

    Rounding may move a sum across a kink, so sums near a kink are decided in rationals.
    """
    if neuron.n_bits > MOST_BITS:
        raise UserError(
            f"Enumeration of n = {neuron.n_bits} bits was asked for; it is for n <= {MOST_BITS}, "
            "leave the engine out to get one that reaches further."
        )
    scores = np.array([neuron.bias])
    for weight in neuron.weights:
        scores = np.concatenate([scores + weight, scores - weight])
    for kink in activation.pieces.kinks if activation.pieces is not None else ():
        edge = float(kink)
        reach = abs(edge) + abs(neuron.bias) + np.abs(neuron.weights).sum()
        for code in np.nonzero(np.abs(scores - edge) <= 1e-14 * reach)[0].tolist():
            weights, exact = neuron.exact
            exact += sum(-w if code >> i & 1 else w for i, w in enumerate(weights))
            if exact == kink:
                scores[code] = edge
            elif exact > kink:
                scores[code] = max(scores[code], np.nextafter(edge, np.inf))
            else:
                scores[code] = min(scores[code], np.nextafter(edge, -np.inf))
    return scores


def walsh_hadamard(values: Floats) -> Floats:
    """Mean over x of chi_A(x) values(x), for all A: n rounds of sums and differences."""
    result = values.copy()
    half = 1
    while half < len(result):
        pairs = result.reshape(-1, 2, half)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return result / len(result)


def _code(member: NDArray[np.bool_]) -> int:
    return sum(1 << int(index) for index in np.nonzero(member)[0])


def _doubt(activation: Activation, neuron: Neuron, scores: Floats, derivative: bool) -> float:
    """eps times the sum of the absolute terms, plus the effect of an error in z of eps (|w|_1 + |b|).

    |s''| <= 2 (1 + |z|) |s'| for the analytic activations; kinks are decided exactly.
    """
    reach = abs(neuron.bias) + np.abs(neuron.weights).sum()
    slope = np.abs(activation.derivative(scores))
    moved = reach * slope * (2 * (1 + np.abs(scores)) if derivative else 1.0)
    added = (neuron.n_bits + 2) * (slope if derivative else np.abs(activation.value(scores)))
    return float(np.finfo(np.float64).eps * np.mean(added + moved))
