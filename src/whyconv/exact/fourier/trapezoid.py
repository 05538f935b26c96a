"""Fourier coefficients of analytic activations by one integral over the characteristic function.

    E[chi_A(x) exp(it<w,x>)] = i^|A| prod_{i in A} sin(t w_i) prod_{i not in A} cos(t w_i)

so with Dhat the transform of s' (even, positive) and phi_a(u) = Re(i^a exp(iu))

    s'hat(A) = 1/pi int_0^oo Dhat(t)     phi_|A|(tb)   prod sin prod cos dt,
    shat(A)  = 1/pi int_0^oo Dhat(t) / t phi_|A|-1(tb) prod sin prod cos dt    (+ s(0) if A is empty).

The rule is the trapezoid rule shifted by half a step, t = (m + 1/2) h, which avoids limits at t = 0. By
Poisson summation its only error is the same coefficient of s'(z +- 2 pi m / h): with h = 2 pi / (|w|_1 +
|b| + 45 + |A|) every z is 45 away from the bump, and both contain the tiny factor prod w_i, so even the
*relative* error is below that of rounding. Products are sums of logarithms; coordinates with equal |w_i|
are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from math import pi

from whyconv.errors import UserError
from whyconv.exact.fourier.activations import Activation
from whyconv.exact.fourier.neuron import Neuron
from whyconv.exact.fourier.scaled import Floats, Scaled
from whyconv.lazy import NDArray, np

NEGLIGIBLE = 46.0
"""The integral ends at exp(-46) = 1e-20 of its largest term."""
MOST_WORK = 2e9
"""Limit for the number of sines and cosines: a few minutes."""
OWN_WORK = 10
"""The fixed cost of a single t, in sines and cosines."""


def coefficient(activation: Activation, neuron: Neuron, derivative: bool) -> Scaled:
    """shat(A) or s'hat(A). Cost (distinct |w_i|) * (|w|_1 + |b| + 45 + |A|) * about 5 evaluations."""
    order = neuron.size if derivative else neuron.size - 1
    found = _integrate(activation, neuron, _Groups.of(neuron), np.array([order]), over_t=not derivative)[0]
    if neuron.size == 0 and not derivative:
        found = found + activation.centre
    return found * float(neuron.sign)


def partials(activation: Activation, neuron: Neuron) -> Scaled:
    """s'hat(A xor {j}) for all j; toggling j swaps one sine for a cosine in every product.

    The swap is a subtraction of logarithms, which is accurate near the zeros of the cosine, unlike a
    division; groups of equal |w_j| share it. Cost about twice that of :func:`coefficient`.
    """
    groups = _Groups.of(neuron)
    orders = neuron.size + np.where(groups.member, -1, 1)
    found = _integrate(activation, neuron, groups, orders, toggle=True)[groups.of_bit]
    return found * (neuron.sign * np.where(neuron.weights < 0, -1.0, 1.0))


@dataclass(frozen=True, eq=False)
class _Groups:
    """Coordinates of equal |w| and equal membership, members first: |w|, count, and each bit's group."""

    size: Floats
    member: NDArray[np.bool_]
    count: Floats
    of_bit: NDArray[np.int64]

    @classmethod
    def of(cls, neuron: Neuron) -> _Groups:
        table = np.stack([1.0 - neuron.member, np.abs(neuron.weights)])
        pairs, of_bit, counts = np.unique(table, axis=1, return_inverse=True, return_counts=True)
        return cls(pairs[1], pairs[0] == 0, counts.astype(np.float64), of_bit.reshape(-1))

    @property
    def dead(self) -> NDArray[np.bool_]:
        """Members of weight 0, whose sine makes the product vanish for every t."""
        return self.member & (self.size == 0)

    def alive(self, toggle: bool) -> NDArray[np.bool_]:
        """Which outputs are not 0 for every t: one output, or with ``toggle`` one per group."""
        dead = self.count[self.dead].sum()
        if not toggle:
            return np.array([dead == 0])
        return self.dead if dead == 1 else (self.size > 0) & (dead == 0)


def _integrate(
    activation: Activation,
    neuron: Neuron,
    groups: _Groups,
    orders: NDArray[np.int64],
    *,
    toggle: bool = False,
    over_t: bool = False,
) -> Scaled:
    """One integral per entry of ``orders`` (the a of phi_a), ignoring the signs of the weights.

    ``toggle``: for A with a bit of each group toggled; ``over_t``: Dhat / t for Dhat. Blocks of t are added
    until a bound on all later terms is 1e-20 of the largest term so far.
    """
    length = float(np.abs(neuron.weights).sum())
    period = length + abs(neuron.bias) + 45 + neuron.size
    if (work := _points(period, neuron.size) * (len(groups.size) + OWN_WORK)) > MOST_WORK:
        raise UserError(
            f"The trapezoid engine was given |w|_1 + |b| = {length + abs(neuron.bias):.3g} at n = "
            f"{neuron.n_bits} and a set of {neuron.size} bits, which is {work / MOST_WORK:.2g} times what it "
            "does in a few minutes; scale the neuron down, or take smaller n and k."
        )
    step, block = 2 * pi / period, int(np.clip(2**16 // len(groups.size), 16, 4096))
    alive = groups.alive(toggle)
    lead, total, error = np.full(alive.sum(), -np.inf), np.zeros(alive.sum()), np.zeros(alive.sum())
    for start in count(0, block) if alive.any() else ():
        t = step * (start + 0.5 + np.arange(block, dtype=np.float64))
        t, logs, odd = _products(activation, groups, t, alive if toggle else None, over_t, lead.min())
        if len(t):
            top = np.maximum(lead, logs.max(axis=1))
            with np.errstate(under="ignore"):
                fade, terms = np.exp(lead - top), np.exp(logs - top[:, None])
                angle = np.abs(t * neuron.bias)
                # eps times this is the error of a term: sums L of logarithms are off by eps |L|, an angle u
                # by eps u, which changes log cos u by u min(u, 1) and log sin u by 1.
                doubt = 4 + neuron.size + np.minimum(t * length, t * t * (neuron.weights @ neuron.weights))
                error = error * fade + (terms * angle).sum(axis=1)
                terms *= phases(orders[alive], t * neuron.bias)
                total = total * fade + np.where(odd, -terms, terms).sum(axis=1)
                error += (np.abs(terms) * (doubt + 2 * np.abs(logs))).sum(axis=1)
            lead = top
        end = np.array([step * (start + block)])
        later = _bound(groups, end, toggle)[alive, 0] + front(activation, end, over_t)
        if np.all(later < lead - NEGLIGIBLE):
            break
    error *= step / pi * np.finfo(np.float64).eps
    full = np.zeros((3, len(orders)))
    full[:, alive] = step / pi * total, lead, error
    return Scaled(*full)


def _points(period: float, size: int) -> float:
    """The approximate number of t: Dhat(t) alone is negligible from t = 31 on, and (t w)^|A| times Dhat,
    which is like exp(-pi t / 2), has its peak at 2 |A| / pi at most; the step is 2 pi / period.
    """
    return (5 + size / 10) * period


def front(activation: Activation, t: Floats, over_t: bool) -> Floats:
    """log Dhat(t), or log of Dhat(t) / t."""
    assert activation.log_transform is not None
    return activation.log_transform(t) - (np.log(t) if over_t else 0.0)


def _products(
    activation: Activation,
    groups: _Groups,
    t: Floats,
    toggled: NDArray[np.bool_] | None,
    over_t: bool,
    lead: float,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """(t, log |Dhat prod sin prod cos|, whether the product is negative), one row per output.

    With ``toggled`` a row for each such group, with one bit swapped; t at which all rows are negligible
    beside ``lead`` are dropped before the second half of the work.
    """
    own, negative = _factors(groups, t, swapped=False)
    logs = (groups.count @ own + front(activation, t, over_t))[None]
    odd = np.logical_xor.reduce(negative[groups.count % 2 == 1], axis=0)[None]
    if toggled is None:
        return t, logs, odd
    kept = logs[0] - own.min(axis=0) > lead - NEGLIGIBLE
    t, logs, odd, own, negative = t[kept], logs[:, kept], odd[:, kept], own[:, kept], negative[:, kept]
    other, changed = _factors(groups, t, swapped=True)
    return t, (logs - own + other)[toggled], (odd ^ negative ^ changed)[toggled]


def _factors(groups: _Groups, t: Floats, swapped: bool) -> tuple[Floats, NDArray[np.bool_]]:
    """log |sin(t |w|)| for members, log |cos| for others, or ``swapped``; and the negative factors."""
    values = groups.size[:, None] * t
    members = int(groups.member.sum())
    sines, cosines = (values[members:], values[:members]) if swapped else (values[:members], values[members:])
    np.sin(sines, out=sines)
    np.cos(cosines, out=cosines)
    negative = values < 0
    with np.errstate(divide="ignore"):
        np.log(np.abs(values, out=values), out=values)
    if not swapped:
        values[groups.dead] = 0.0
    return values, negative


def phases(orders: NDArray[np.int64], angle: Floats) -> Floats:
    """phi_a(u) = Re(i^a exp(iu)) = cos, -sin, -cos, sin for a = 0, 1, 2, 3 mod 4."""
    cycle = np.stack([np.cos(angle), -np.sin(angle), -np.cos(angle), np.sin(angle)])
    return cycle[orders % 4]


def _bound(groups: _Groups, t: Floats, toggle: bool) -> Floats:
    """A bound on log |prod sin prod cos| by |sin u| <= min(1, u) and |cos u| <= 1, one row per output.

    Concave in t, like log Dhat: once their sum is below an earlier term, it keeps falling.
    """
    with np.errstate(divide="ignore"):
        sines = np.minimum(0.0, np.log(groups.size[:, None] * t))
    own = np.where((groups.member & ~groups.dead)[:, None], sines, 0.0)
    whole = (groups.count @ own)[None]
    return whole - own + np.where(groups.member[:, None], 0.0, sines) if toggle else whole
