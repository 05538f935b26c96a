"""Two descents on one small k-pattern problem: compressed to types, and with all q filters.

The claims on gradient descent rest on :mod:`.window_descent`, which is exact only if its compression is. Here
both descents start from the same W^(0), with steps large enough to cross every kink (margins cross 1,
activations cross 0), and ``gap`` is their largest distance.
"""

from __future__ import annotations

from dataclasses import dataclass

from whyconv.lazy import Ints, np
from whyconv.papers.malach.exact import k_patterns, oracle_windows, window_descent
from whyconv.papers.malach.exact.oracle_windows import PlainNetwork, PlainPath
from whyconv.papers.malach.exact.window_descent import Path, Ramp


@dataclass(frozen=True)
class Walks:
    """The two records of one problem, both with Lemma 6's u* and -u* as probes, and what was drawn.

    ``path`` has one run. ``counts`` = |J_z| by bank, (banks, 2^k); ``kinds`` the type of every filter,
    (banks, q); ``star_norm`` = |u*|; ``network`` the plain network after its last step.
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
    kind: str,
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
    seed: int = 0,
) -> Walks:
    """Both descents on one k-pattern problem; eta T = ``reach``; an LCN if not ``shared``.

    Labels, distribution and u* are computed once and passed to both (u* copy by copy to the plain network);
    forward pass, gradients, steps and norms are not shared. So ``gap`` certifies the descent at this q, but
    not the setup of the problem. ``activation``, ``start``, ``windows`` as in
    :func:`.window_descent.descend`. Cost about 2 ms per step at n = 4.
    """
    sigma, rng = activation or Ramp(), np.random.default_rng(seed)
    seen = windows or k_patterns.window_count(n_bits, k_window)
    banks, step = 1 if shared else seen, reach / steps
    kinds = rng.integers(2**k_window, size=(banks, width))
    counts = np.stack([np.bincount(row, minlength=2**k_window) for row in kinds])
    table = k_patterns.target(kind, k_window, seed)
    labels = k_patterns.labels(n_bits, table, position)
    weights = k_patterns.distribution(law, n_bits)
    probe = window_descent.separator(counts[None], table, min(position, seen), seen)
    path = window_descent.descend(
        labels[None],
        weights[None],
        counts[None],
        step,
        steps,
        activation=sigma,
        start=start,
        probes=np.stack([probe, -probe], axis=1),
        windows=windows,
    )
    words = k_patterns.cube(k_window)
    network = PlainNetwork(
        words[kinds] / k_window, np.full((seen, width), start), 1 / k_window - 1, sigma.cap, sigma.shift
    )
    star = np.array([probe[0].reshape(seen, -1)[j, kinds[network.bank(j)]] for j in range(seen)])
    inputs = k_patterns.cube(n_bits)
    examples = [(x, float(y), float(p)) for x, y, p in zip(inputs, labels, weights, strict=True) if p]
    plain = oracle_windows.descend(network, examples, step, steps, (star, -star))
    norm = float(np.linalg.norm(star))
    return Walks(n_bits, k_window, width, step, sigma, counts, path, plain, network, kinds, norm)
