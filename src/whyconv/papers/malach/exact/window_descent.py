"""Gradient descent on CNNs and LCNs that read k-bit windows, exactly, at any width.

Malach & Shalev-Shwartz, Definitions 1 and 11, trained as in Theorem 4 (b is not trained):

    h(x) = sum_j <u^(j), sigma(W^(j) x_{j..j+k-1} + b)>,   L = sum_x P(x) max(1 - f(x) h(x), 0)
    theta^(t) = theta^(t-1) - eta grad L,   W^(0) uniform on {-1/k, 1/k}^{q x k},  b_i = 1/k - 1,  u^(0) = 0

with one W for all windows (CNN) or one for each (LCN), and n - k + 1 windows.

**Compression.** Filters that start equal stay equal: W^(0) has only 2^k different rows and u^(0) = 0, so
the q filters are 2^k *types* with multiplicities |J_z| (``counts``). The forward pass weights a type by its
multiplicity; the gradient of one copy does not. Time and memory do not depend on q. A window takes 2^k
values, so everything is a table: activations by (type, value), outputs by (window, value).

Axes: runs r (side by side, each with its own labels, distribution and filters), banks f (1 for a CNN, one per
window for an LCN), windows g within a bank, types z, values v, inputs x. Flattened, (f, g) numbers the
windows. Kinks: the hinge's subgradient is 0 at margin 1, sigma' is 0 at both kinks.
"""

from __future__ import annotations

from dataclasses import dataclass

from whyconv.lazy import Floats, Ints, np
from whyconv.papers.malach.exact.k_patterns import cube, window_codes


@dataclass(frozen=True)
class Ramp:
    """sigma(z) = clip(shift + z, 0, cap): |sigma| <= c = ``cap`` and |sigma'| <= 1.

    With shift 0 and cap >= 1/k it is the clipped ReLU, for which both Lemma 6 and the hypothesis
    |sigma| <= c of Theorem 4 hold (a ReLU breaks the latter, tanh the former).
    """

    cap: float = 1.0
    shift: float = 0.0

    def __call__(self, z: Floats) -> Floats:
        return np.minimum(np.maximum(z + self.shift, 0.0), self.cap)

    def slope(self, z: Floats) -> Floats:
        """sigma'(z), 0 at the kinks."""
        lifted = z + self.shift
        return ((lifted > 0) & (lifted < self.cap)).astype(float)


@dataclass(frozen=True)
class Path:
    """The quantities of the lemmas at t = 0, 1, ..., T, and the last parameters. Norms are over all q copies.

    ``loss``, ``error`` (sign of h against f, 0 counts as wrong) have shape (T + 1, runs); ``readout_norms``
    = |u^(t,j)| (T + 1, runs, windows); ``drift`` = |W^(t) - W^(0)|_F (T + 1, runs, banks); ``gradients`` =
    |dL/du| at t = 0..T-1 (T, runs); ``probe_loss`` the loss of (u*, W^(t)) for the given readouts u*
    (T + 1, runs, probes); ``readout`` (runs, banks, windows per bank, types), ``filters`` (runs, banks,
    types, k).
    """

    loss: Floats
    error: Floats
    readout_norms: Floats
    drift: Floats
    gradients: Floats
    probe_loss: Floats
    readout: Floats
    filters: Floats

    @property
    def steps(self) -> int:
        """T, the number of steps taken."""
        return len(self.loss) - 1


def draw_counts(rng: np.random.Generator, width: int, k_window: int, runs: int = 1, banks: int = 1) -> Ints:
    """|J_z| for W ~ {-1/k, 1/k}^{q x k}, q = ``width``: uniform multinomial; (runs, banks, 2^k)."""
    types = 2**k_window
    return rng.multinomial(width, np.full(types, 1 / types), (runs, banks))


def separator(counts: Ints, table: Floats, position: int, windows: int) -> Floats:
    """u* of Lemma 6 per copy: k g(z) / |J_z| at window j*, 0 elsewhere; (runs, banks, windows per bank, 2^k).

    ``counts`` (runs, banks, 2^k), ``table`` = g (runs, 2^k) or (2^k,), ``position`` = j*. Types without a
    copy get 0.
    """
    runs, banks, types = counts.shape
    k_window = types.bit_length() - 1
    readout = np.zeros((runs, windows, types))
    mine = counts[:, position - 1 if banks > 1 else 0]
    readout[:, position - 1] = np.where(mine > 0, k_window * table / np.maximum(mine, 1), 0.0)
    return readout.reshape(runs, banks, -1, types)


def descend(
    labels: Floats,
    weights: Floats,
    counts: Ints,
    step: float,
    steps: int,
    *,
    activation: Ramp | None = None,
    bias: float | None = None,
    start: float = 0.0,
    probes: Floats | None = None,
    windows: int | None = None,
    stop_at: float | None = None,
) -> Path:
    """T = ``steps`` steps of size eta = ``step`` from the start of Theorem 4, several runs side by side.

    ``labels`` and ``weights`` = f(x) and P(x), shape (runs, 2^n); ``counts`` = |J_z|, shape (runs, banks,
    2^k) with 1 bank for a CNN and one per window for an LCN. ``activation`` is the clipped ReLU with c = 1
    unless given, ``bias`` 1/k - 1. ``probes`` are readouts u* (runs, probes, banks, windows per bank, 2^k)
    whose loss is recorded. Deviations for controls: ``start`` is every u_i^(0); ``windows`` = n - k omits
    the last window, as the paper's sums do. The descent ends once every run's loss is at most ``stop_at``.

    Cost per step and run: 2 (n-k+1) 2^k (2^n + 2^(k+1)) multiplications for any q; at n = 4 about 0.1 ms.
    """
    sigma = activation or Ramp()
    runs, banks, types = counts.shape
    n_bits, k_window = labels.shape[1].bit_length() - 1, types.bit_length() - 1
    codes = window_codes(n_bits, k_window)[:, :windows]
    grouped = (runs, banks, codes.shape[1] // banks, types)
    words = cube(k_window)
    seen = (codes.T[:, None] == np.arange(types)[:, None]).reshape(-1, labels.shape[1]).astype(float)
    seen_by_input = np.ascontiguousarray(seen.T)
    copies = counts[:, :, None].astype(float)
    offset = 1 / k_window - 1 if bias is None else bias
    filters = np.broadcast_to(words / k_window, (runs, banks, types, k_window)).copy()
    readout = np.full(grouped, start)
    pulls = -labels * weights
    if probes is None:
        probes = np.zeros((runs, 0, *grouped[1:]))
    record = _Record(labels, weights, counts, seen, filters, probes, steps)
    t = 0
    while True:
        inner = filters @ words.T + offset
        active, slopes = sigma(inner), sigma.slope(inner)
        margins = labels * (((copies * readout) @ active).reshape(runs, -1) @ seen)
        record.state(t, readout, filters, active, margins)
        if t == steps or (stop_at is not None and record.loss[t].max() <= stop_at):
            return record.path(t, readout, filters)
        pull = (np.where(margins < 1, pulls, 0.0) @ seen_by_input).reshape(grouped)
        by_readout = pull @ active.swapaxes(2, 3)
        by_filter = ((readout.swapaxes(2, 3) @ pull) * slopes) @ words
        record.gradient(t, by_readout)
        readout = readout - step * by_readout
        filters = filters - step * by_filter
        t += 1


class _Record:
    """The arrays of a :class:`Path`, filled during a descent, which they do not affect.

    ``labels``, ``weights``, ``counts``, ``probes`` as in :func:`descend`; ``seen`` = [window value is v],
    (windows * values, inputs); ``first`` = W^(0).
    """

    def __init__(
        self,
        labels: Floats,
        weights: Floats,
        counts: Ints,
        seen: Floats,
        first: Floats,
        probes: Floats,
        steps: int,
    ) -> None:
        runs, probed, banks, windows, _ = probes.shape
        self._labels, self._weights, self._seen, self._first = labels, weights, seen, first
        self._copies, self._copies_by_type = counts[:, :, None].astype(float), counts[..., None].astype(float)
        self._probes = probes * self._copies[:, None]
        marks = (steps + 1, runs)
        self.loss, self.error = np.empty(marks), np.empty(marks)
        self.norms, self.drift = np.empty((*marks, banks, windows)), np.empty((*marks, banks))
        self.gradients, self.probe_loss = np.empty((steps, runs)), np.empty((*marks, probed))

    def state(self, t: int, readout: Floats, filters: Floats, active: Floats, margins: Floats) -> None:
        """Record the parameters after t steps; ``active`` (runs, banks, types, values)."""
        self.loss[t] = (self._weights * np.maximum(1 - margins, 0.0)).sum(axis=1)
        self.error[t] = (self._weights * (margins <= 0)).sum(axis=1)
        self.norms[t] = np.sqrt((self._copies * readout**2).sum(axis=3))
        self.drift[t] = np.sqrt((self._copies_by_type * (filters - self._first) ** 2).sum(axis=(2, 3)))
        if self._probes.size:
            tables = (self._probes @ active[:, None]).reshape(*self._probes.shape[:2], -1)
            missing = np.maximum(1 - self._labels[:, None] * (tables @ self._seen), 0.0)
            self.probe_loss[t] = (self._weights[:, None] * missing).sum(axis=2)

    def gradient(self, t: int, by_readout: Floats) -> None:
        """Record |dL/du| of step t + 1, over all copies."""
        self.gradients[t] = np.sqrt((self._copies * by_readout**2).sum(axis=(1, 2, 3)))

    def path(self, last: int, readout: Floats, filters: Floats) -> Path:
        """The record up to ``last`` steps."""
        loss, error, norms, drift, probe_loss = (
            each[: last + 1] for each in (self.loss, self.error, self.norms, self.drift, self.probe_loss)
        )
        norms = norms.reshape(*loss.shape, -1)
        return Path(loss, error, norms, drift, self.gradients[:last], probe_loss, readout, filters)


def outputs(readout: Floats, filters: Floats, counts: Ints, n_bits: int, sigma: Ramp | None = None) -> Floats:
    """h(x) for all inputs, (runs, 2^n), of parameters as :class:`Path` holds them; b_i = 1/k - 1.

    Window by window from the definition, to test a network trained on a sample on all inputs.
    """
    runs, banks, _, k_window = filters.shape
    ramp, inputs = sigma or Ramp(), cube(n_bits)
    by_window = readout.reshape(runs, -1, readout.shape[-1])
    values = np.zeros((runs, len(inputs)))
    for j in range(by_window.shape[1]):
        bank = j if banks > 1 else 0
        answers = ramp(filters[:, bank] @ inputs[:, j : j + k_window].T + 1 / k_window - 1)
        values += np.einsum("rz,rz,rzx->rx", counts[:, bank], by_window[:, j], answers)
    return values
