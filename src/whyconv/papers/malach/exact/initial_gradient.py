"""The population gradient of an FCN at its initialisation (Malach & Shalev-Shwartz, Theorem 12).

D is uniform on {-1, 1}^n, the target is chi_I(x) = prod_{i in I} x_i with |I| = k, and h(x) is in [-1, 1] for
all x, so the hinge loss has slope -y everywhere. For a neuron (w, b) with readout u, and with
g^(A) = E[g(x) chi_A(x)] for g(x) = sigma'(<w, x> + b),

    dL/dw_j = -u g^(I xor {j}),        dL/du = -E[sigma(<w, x> + b) chi_I(x)].

If w's law does not change under permutations of the bits, E g^(A)^2 depends on |A| only, hence equals
E W^|A|[g] / C(n, |A|), where W^m[g] = sum_{|A|=m} g^(A)^2 is the weight of level m. Summing over j:

    E |dL/dw|^2 = u^2 [(n-k+1) E W^(k-1)[g] + (k+1) E W^(k+1)[g]] / C(n, k)          (level identity)

since k / C(n, k-1) = (n-k+1) / C(n, k) and (n-k) / C(n, k+1) = (k+1) / C(n, k). Levels sum to
E g^2 <= 1, which gives the tight bound below. Bounds are per neuron with |u| = 1; q neurons multiply them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb

from whyconv.lazy import Floats, np, special


def inverse_sizes(n_bits: int, k_window: int) -> tuple[Fraction, Fraction]:
    """1/|S_j| for j in I and for j outside I: 1/C(n-1, k-1) and 1/C(n-1, k), for 0 < k < n.

    S_j is the proof's largest set of permutations that fix j and move I to different sets.
    """
    return Fraction(1, comb(n_bits - 1, k_window - 1)), Fraction(1, comb(n_bits - 1, k_window))


def paper_bound(n_bits: int, k_window: int) -> Fraction:
    """n min{1/C(n-1, k), 1/C(n-1, k-1)}: Theorem 12's bound on E |dL/dw|^2 for one neuron, 0 < k < n."""
    return n_bits * min(inverse_sizes(n_bits, k_window))


def proof_bound(n_bits: int, k_window: int) -> Fraction:
    """2 n / C(n, k): the result of Theorem 12's proof with the correct 1/|S_j|.

    The proof states 1/|S_j| <= min{1/C(n-1, k), 1/C(n-1, k-1)}; it is their maximum for some j unless
    n = 2k. With the correct sizes the n coordinates sum to k/C(n-1, k-1) + (n-k)/C(n-1, k).
    """
    inside, outside = inverse_sizes(n_bits, k_window)
    return k_window * inside + (n_bits - k_window) * outside


def tight_bound(n_bits: int, k_window: int) -> Fraction:
    """max(n-k+1, k+1) / C(n, k): from the level identity, as the two weights sum to at most 1.

    At most `paper_bound` for every 0 < k < n, and attained: see `detector`.
    """
    return Fraction(max(n_bits - k_window + 1, k_window + 1), comb(n_bits, k_window))


def readout_bound(n_bits: int, k_window: int) -> Fraction:
    """1 / C(n, k): Theorem 12's bound on E (dL/du)^2 for one neuron with |sigma| <= 1."""
    return Fraction(1, comb(n_bits, k_window))


def by_levels(below: float, above: float, n_bits: int, k_window: int) -> float:
    """The level identity's right side for u = 1; ``below`` = E W^(k-1)[g], ``above`` = E W^(k+1)[g]."""
    total = (n_bits - k_window + 1) * below + (k_window + 1) * above
    return total / comb(n_bits, k_window)


def detector(size: int) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """sigma and sigma' with sigma'(<1_A, x>) = chi_A(x) for every set A of ``size`` bits.

    sigma'(z) = cos(pi (z - size) / 2), since i^size chi_A(x) = exp(i pi <1_A, x> / 2); |sigma| <= 2/pi. With
    w = 1_A for a random A of size k-1, a permutation-invariant law, all weight is on level k-1: E |dL/dw|^2
    is (n-k+1)/C(n, k), and E (dL/dw_j)^2 = 1/C(n, k-1) for j in I, above the proof's min for n > 2k. With A
    of size k+1 it is (k+1)/C(n, k), the tight bound for k > n/2.
    """

    def activation(z: Floats) -> Floats:
        return np.sin(np.pi / 2 * (z - size)) * (2 / np.pi)

    def slope(z: Floats) -> Floats:
        return np.cos(np.pi / 2 * (z - size))

    return activation, slope


def cosine(size: int, cap: float, part: str) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """sigma and sigma' with |sigma| <= c = ``cap``, |sigma'| <= 1, for weights (pi c / 2) 1_A, |A| =
    ``size``.

    ``part`` = "sigma": sigma(<w, x>) = c chi_A(x); "slope": sigma'(<w, x>) = chi_A(x). All Fourier weight is
    on A, so a random A of k bits gives E (dL/du)^2 = c^2 / C(n, k): Theorem 12's bound is attained.
    """
    shift = np.pi / 2 * size

    def wave(z: Floats) -> Floats:
        return np.cos(z / cap - shift)

    def other(z: Floats) -> Floats:
        return np.sin(z / cap - shift)

    if part == "sigma":
        return (lambda z: cap * wave(z)), (lambda z: -other(z))
    return (lambda z: cap * other(z)), wave


def cosine_squares(n_bits: int, k_window: int, size: int, cap: float) -> tuple[float, float]:
    """(E |dL/dw|^2, E (dL/du)^2) of :func:`cosine` ("sigma" if ``size`` = k, else "slope"), for one neuron.

    From E[chi_B(x) exp(i <w, x> / c)] = i^|B| prod_{j in B} sin(w_j / c) prod_{j not in B} cos(w_j / c),
    whose factors at w_j / c = pi/2 or 0 are 1 or 0: the coefficient at B is 1 for B = A, else 0 (sine and
    cosine out of phase). So what remains is to count: A = I with probability 1 / C(n, k), and A = I xor
    {j}.
    """
    if size == k_window:
        return 0.0, cap**2 * float(Fraction(1, comb(n_bits, size)))
    ways = k_window if size == k_window - 1 else n_bits - k_window
    return float(Fraction(ways, comb(n_bits, size))), 0.0


def gaussian_square(
    function: Callable[[Floats], Floats], n_bits: int, size: int, bias: float, terms: int = 80
) -> float:
    """E over w ~ N(0, 1/n)^n of f^(A)^2 for f(x) = function(<w, x> + b) and |A| = ``size`` = a, by a series.

    For two inputs x, x' the pair (<w, x>, <w, x'>) is normal with variances 1 and correlation the mean of
    s = x x'. Mehler's formula turns the expectation over w into a series in that correlation:

        E f^(A)^2 = sum_m c_m^2 E[chi_A(s) (mean s)^m],   c_m = E[function(Z + b) He_m(Z)] / sqrt(m!),

    and E[chi_A(s) (mean s)^m] = m! n^-m [t^m] sinh(t)^a cosh(t)^(n-a) >= 0, nonzero for m = a, a+2, ... No
    term is negative, so small values are accurate to about 12 digits. ``terms`` of them are summed; for
    analytic functions c_m^2 falls like exp(-const sqrt(m)). Cost: a quadrature of 1,200 points per term.
    """
    step = 0.025
    z = np.arange(-15, 15 + step / 2, step)
    half = np.exp(-(z**2) / 4) * (step / np.sqrt(2 * np.pi)) ** 0.5
    values = function(z + bias) * half
    before, now = np.zeros_like(z), half
    chaos = np.empty(size + 2 * terms)
    for m in range(len(chaos)):
        chaos[m] = values @ now
        before, now = now, (z * now - np.sqrt(m) * before) / np.sqrt(m + 1)
    degree = size + 2 * np.arange(terms)
    # in t / sqrt(n), so that no coefficient overflows
    order = np.arange(terms)
    odd = np.exp(-order * np.log(n_bits) - special.gammaln(2 * order + 2))
    even = np.exp(-order * np.log(n_bits) - special.gammaln(2 * order + 1))
    coefficients = np.convolve(_power(odd, size), _power(even, n_bits - size))[:terms]
    moments = coefficients * np.exp(special.gammaln(degree + 1) - (size + degree) / 2 * np.log(n_bits))
    return float(moments @ chaos[degree] ** 2)


def normal_partials(
    function: Callable[[Floats], Floats], weights: Floats, bias: float, k_window: int
) -> Floats:
    """f^(I xor {j}) for f(x) = function(<w, x> + b), all j, I the first k bits, if <w, x> were normal.

    In f^(A) = (2 pi)^-1 int F(t) e^(itb) prod_{i in A} i sin(t w_i) prod_{i not in A} cos(t w_i) dt put
    cos z = exp(-z^2/2) and sin z = z exp(-z^2/6), which is wrong by O(z^4) only. With m = |A|,

        f^(A) = v^-m prod_{i in A} w_i E[function(v Z + b) He_m(Z)],
        v^2 = sum_i w_i^2 - (2/3) sum_{i in A} w_i^2,

    where v is taken at A = I for all j; no weight may be 0. For weights N(0, 1/n) the relative error falls
    like 1/n (at most 5 % at n = 1024, k = 10). This is the gradient of one neuron, while
    :func:`gaussian_square` is a mean dominated by a few large neurons. Cost: 1,200 points.
    """
    inside = np.arange(len(weights)) < k_window
    spread = np.sqrt((weights**2).sum() - (weights[inside] ** 2).sum() * 2 / 3)
    step = 0.025
    z = np.arange(-15, 15 + step / 2, step)
    values = function(spread * z + bias) * np.exp(-(z**2) / 2) * step / np.sqrt(2 * np.pi)
    below, above = (
        values @ np.polynomial.hermite_e.hermeval(z, np.eye(m + 1)[m]) / spread**m
        for m in (k_window - 1, k_window + 1)
    )
    product = weights[inside].prod()
    return np.where(inside, below * product / weights, above * product * weights)


def _power(series: Floats, exponent: int) -> Floats:
    """A power series to a natural power, truncated to its length; by products, so positive terms stay so."""
    result = np.zeros_like(series)
    result[0] = 1
    while exponent:
        if exponent & 1:
            result = np.convolve(result, series)[: len(series)]
        series = np.convolve(series, series)[: len(series)]
        exponent >>= 1
    return result
