"""Two descents on one small k-pattern problem: compressed to types, and with all q filters.

The claims on gradient descent rest on :mod:`.window_descent`, which is exact only if its compression is. Here
both descents start from the same W^(0), with steps large enough to cross every kink (margins cross 1,
activations cross 0), and ``gap`` is their largest distance. Each route sets up the problem by itself: the
compressed one by :mod:`.k_patterns` and Lemma 6's formula for u*, the plain one by :mod:`.oracle_problem`.
What they share is the drawn type of every filter, the step size, and the start of Theorem 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whyconv.lazy import Floats, Ints, np
from whyconv.papers.malach.exact import k_patterns, oracle_problem, oracle_windows, window_descent
from whyconv.papers.malach.exact.oracle_windows import PlainNetwork, PlainPath
from whyconv.papers.malach.exact.window_descent import Path, Ramp


@dataclass(frozen=True)
class Walks:
    """The two records of one problem, and what was drawn.

    Both have three probes: Lemma 6's u*, -u*, and -1/q on every filter of every window. ``path`` has one run.
    ``counts`` = |J_z| by bank, (banks, 2^k); ``kinds`` the type of every filter, (banks, q); ``star_norm`` =
    |u*|; ``network`` the plain network after its last step.
    """

    n_bits: int
    k_window: int
    width: int
    step: float
    activation: Ramp
    counts: Ints
    path: Path
    plain: PlainPath
    network: PlainNetwork
    kinds: Ints
    star_norm: float

    @property
    def probe_norms(self) -> Floats:
        """sum_j |u*^(j)| of the three probes."""
        return np.array([self.star_norm, self.star_norm, len(self.network.readout) / self.width**0.5])

    @property
    def gap(self) -> float:
        """The largest difference between the two records and their last parameters, copy by copy."""
        pairs = [
            (self.path.loss[:, 0], self.plain.loss),
            (self.path.readout_norms[:, 0], self.plain.readout_norms),
            (self.path.drift[:, 0], self.plain.drift),
            (self.path.gradients[:, 0], self.plain.gradients),
            (self.path.probe_loss[:, 0], self.plain.probe_loss),
        ]
        readout = self.path.readout[0].reshape(len(self.network.readout), -1)
        for window, copies in enumerate(self.network.readout):
            kinds = self.kinds[self.network.bank(window)]
            pairs.append((readout[window, kinds], copies))
        for bank, kinds in enumerate(self.kinds):
            pairs.append((self.path.filters[0, bank, kinds], self.network.filters[bank]))
        return max(float(np.abs(one - other).max()) for one, other in pairs)


def walk(
    kind: str | Sequence[float],
    position: int,
    law: str = "uniform",
    *,
    n_bits: int = 4,
    k_window: int = 2,
    width: int = 40,
    steps: int = 50,
    reach: float = 5.0,
    shared: bool = True,
    activation: Ramp | None = None,
    start: float = 0.0,
    windows: int | None = None,
    kinds: Ints | None = None,
    seed: int = 0,
) -> Walks:
    """Both descents on one k-pattern problem; eta T = ``reach``; an LCN if not ``shared``.

    Labels, distribution and u* come from each route's own code, as do forward pass, gradients, steps and
    norms. ``kinds``: the types of the filters (banks, q), if they are not to be drawn; a type is numbered
    like its word in :func:`.oracle_problem.words`. ``activation``, ``start``, ``windows`` as in
    :func:`.window_descent.descend`. Cost about 2 ms per step at n = 4.
    """
    sigma, rng = activation or Ramp(), np.random.default_rng(seed)
    seen = windows or k_patterns.window_count(n_bits, k_window)
    banks, step = 1 if shared else seen, reach / steps
    if kinds is None:
        kinds = rng.integers(2**k_window, size=(banks, width))
    counts = np.stack([np.bincount(row, minlength=2**k_window) for row in kinds])
    table = k_patterns.target(kind, k_window, seed)
    probe = window_descent.separator(counts[None], table, min(position, seen), seen)
    path = window_descent.descend(
        k_patterns.labels(n_bits, table, position)[None],
        k_patterns.distribution(law, n_bits)[None],
        counts[None],
        step,
        steps,
        activation=sigma,
        start=start,
        probes=np.stack([probe, -probe, np.full_like(probe, -1 / kinds.shape[1])], axis=1),
        windows=windows,
    )

    drawn = kind == "random" or not isinstance(kind, str)
    g = oracle_problem.pattern(table.tolist() if drawn else kind)
    signs = np.array(oracle_problem.words(k_window), dtype=float)
    network = PlainNetwork(
        signs[kinds] / k_window,
        np.full((seen, kinds.shape[1]), start),
        1 / k_window - 1,
        sigma.cap,
        sigma.shift,
    )
    star, at = np.zeros((seen, kinds.shape[1])), min(position, seen) - 1
    star[at] = oracle_problem.least_norm_readout(network.filters[network.bank(at)], g)
    examples = oracle_problem.examples(g, n_bits, k_window, position, law)
    plain = oracle_windows.descend(
        network, examples, step, steps, (star, -star, np.full_like(star, -1 / star.shape[1]))
    )
    norm, width = float(np.linalg.norm(star)), kinds.shape[1]
    return Walks(n_bits, k_window, width, step, sigma, counts, path, plain, network, kinds, norm)


def crowd(
    n_bits: int,
    k_window: int,
    width: int,
    value: float,
    room: float,
    *,
    steps: int = 200,
    shared: bool = True,
    bounded: bool = True,
) -> Walks:
    """A descent that Lemmas 8 and 9 hardly overestimate: everything pulls in one direction.

    All mass on the input of ones, label 1, and every filter of the type that answers there, with ``value``
    = sigma(1/k) at the start; c = (1 + ``room``) * value is only reached later, so sigma' = 1 until then. The
    hinge stays active to the end, eta T = 0.8 / (windows q value^2). Then u_i^(t) = eta t value in every
    window, and every window moves each w_i by eta^2 value t (t-1)/2 along (1, ..., 1). The lemmas hold for
    every start, so one that is hardly ever drawn may be taken. If not ``bounded``, sigma goes on above c.
    """
    windows = n_bits - k_window + 1
    ramp = Ramp(cap=(1 + room) * value if bounded else float("inf"), shift=value - 1 / k_window)
    kinds = np.full((1 if shared else windows, width), 2**k_window - 1)
    reach = 0.8 / (windows * width * value**2)
    return walk(
        "and", 1, "point", n_bits=n_bits, k_window=k_window, steps=steps, reach=reach, activation=ramp,
        shared=shared, kinds=kinds,
    )  # fmt: skip


def kink() -> Walks:
    """A descent that stands on the hinge's kink after one step, in numbers without rounding: 1 - y h = 0.

    n = 5, k = 2, all mass on the input of ones, 16 filters of each type, step 1/16: after one step u = 1/32
    on the 16 filters that answer (with 1/2) in 4 windows, so h = 4 * 16 / 64 = 1. With the subgradient 0
    nothing moves any more.
    """
    return walk("and", 1, "point", n_bits=5, steps=8, reach=0.5, kinds=np.repeat(np.arange(4), 16)[None])
