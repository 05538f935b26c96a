"""Lahoti et al., the law of signals: the risk of locally connected networks, and the best rule of all.

The paper's full text was not available; both statements are derived for the reconstructed law, one noisy
signed signal in one of k patches. Sizes: ``patches`` = k, ``patch_dim`` = d.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from whyconv.claims import Claim
from whyconv.exact.signal import bayes
from whyconv.exact.signal.law import SignalLaw
from whyconv.exact.signal.risk import population_risk
from whyconv.lazy import NDArray, np
from whyconv.measure.intervals import mean_interval
from whyconv.papers.lahoti.exact import oracle_signal
from whyconv.verdict import Evidence, Verdict

DRAWS = 40_000
"""Inputs behind each sampled risk, and behind the errors of the rules."""
BIASES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Thresholds b of the network that knows w*; its error is least in between."""
ERRORS = 4.0
"""Standard errors that a sampled number may be off."""
REACH = 1.96
"""Standard errors from a mean to either end of its 95 % interval, for many draws."""


class _Case(NamedTuple):
    """One network at one law; ``stretch`` scales filters that are aligned with the signal by ``aligned``."""

    patches: int
    patch_dim: int
    sigma: float
    bias: float
    shared: bool
    aligned: float
    stretch: float = 1.0


CASES = (
    _Case(10, 5, 0.1, 0.0, True, 1.0),
    _Case(10, 5, 0.1, 0.3, True, 0.9),
    _Case(10, 5, 0.1, 0.3, False, 0.9, 0.7),
    _Case(6, 8, 0.3, 0.5, True, 0.8),
    _Case(6, 8, 0.3, 0.5, False, 0.8),
    _Case(6, 8, 0.3, 0.1, False, -0.5),
    _Case(3, 4, 1.0, 0.4, True, 0.6, 0.5),
    _Case(3, 4, 1.0, 0.4, False, 0.6),
    _Case(20, 5, 0.2, 0.6, False, 0.9),
)


def unit(count: int, seed: int) -> NDArray:
    """A random unit vector."""
    vector = np.random.default_rng(seed).standard_normal(count)
    return vector / np.linalg.norm(vector)


def law_of(signal: NDArray, patches: int, sigma: float) -> SignalLaw:
    """The paper's own law with the signal w*."""
    return SignalLaw(
        table=np.tile(signal, (1, patches, 1)),
        sigmas=np.full(patches, sigma),
        live=np.ones((patches, len(signal)), bool),
    )


class Risk(Claim, name="lahoti.risk"):
    """R = 1 - (2/k) sum m(a_i, s_i) + (1/k) sum [M(a_i, s_i) + (k-1) M(0, s_i)] is the risk of LCN and CNN.

    R = E (y - f)^2 for f = sum_i phi_b(<w_i, x_i>); a_i = <w_i, w*>, s_i = sigma |w_i|; m and M the mean of
    phi_b(a + s N) and of its square; w_1 = ... = w_k for the CNN. Patches are independent given the scene and
    those without signal have mean 0, so there are no cross terms. Routes: m and M in closed form inside
    ``population_risk``; the formula with m and M by quadrature; the mean of (y - f)^2 over 40,000 drawn
    inputs. Nine networks: shared filters or not, along or against the signal, in the ball or on it.
    """

    reference: ClassVar[str] = "Lahoti et al., population risk (our derivation)"
    provenance: ClassVar = "derived"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "k patches of noise beside the signal's, not k - 1"

    def decide(self, broken: str) -> Evidence:
        gaps, off, spread, risks = [], [], [], []
        for seed, case in enumerate(CASES):
            signal = unit(case.patch_dim, seed)
            filters = _filters(case, signal, seed)
            setting = (filters, case.bias, signal, case.sigma)
            closed = population_risk(law_of(signal, case.patches, case.sigma), filters, case.bias)
            stated = oracle_signal.stated_risk(*setting, noise_patches=case.patches - (0 if broken else 1))
            mean, error = oracle_signal.sampled_risk(*setting, DRAWS, seed)
            gaps.append(abs(closed - stated))
            off.append(abs(mean - stated) / error)
            spread.append(error)
            risks.append(stated)
        right = max(gaps) <= 1e-12 and max(off) <= ERRORS
        return Evidence(
            "holds" if right else "fails",
            {
                "networks and laws": len(CASES),
                "closed form and quadrature differ by": max(gaps),
                "standard errors between formula and samples, largest": max(off),
                "largest standard error": max(spread),
                "least risk": min(risks),
                "largest risk": max(risks),
            },
        )


def _filters(case: _Case, signal: NDArray, seed: int) -> NDArray:
    """k filters, all at the cosine ``aligned`` to the signal; or at smaller ones, of different lengths."""
    rng = np.random.default_rng([seed, 1])
    count = 1 if case.shared else case.patches
    across = rng.standard_normal((count, len(signal)))
    across -= (across @ signal)[:, None] * signal
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    lengths = np.ones(1) if case.shared else rng.uniform(0.5, 1.0, count)
    cosines = case.aligned * (np.ones(1) if case.shared else rng.uniform(0.5, 1.0, count))
    w = cosines[:, None] * signal + np.sqrt(1 - cosines**2)[:, None] * across
    return np.broadcast_to(case.stretch * lengths[:, None] * w, (case.patches, len(signal)))


class Bayes(Claim, name="lahoti.bayes"):
    """The best rule is sign sum_t sinh(<w*, x_t> / sigma^2), and no other rule errs less.

    More exactly, E[y | x] = sum_t sinh(u_t) / sum_t cosh(u_t), u_t = <w*, x_t> / sigma^2. Routes: that
    formula; Bayes' rule over the 2k scenes from their densities; ``signal_bayes``, which adds up logarithms
    patch by patch. They are equal on every drawn input, at four laws. Then errors at k = 10, d = 5,
    sigma = 0.3 on the same 40,000 inputs: its own is what the posterior predicts; the linear rule sign sum_t
    <w*, x_t> and the threshold network with w* and the best of eight b (chosen on these very inputs) err more
    often; following the largest |<w*, x_t>| alone is close, but not better.
    """

    reference: ClassVar[str] = "Lahoti et al., Bayes rule (our derivation)"
    provenance: ClassVar = "derived"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "the linear rule sign sum_t <w*, x_t> in place of the sum of sinh"

    def decide(self, broken: str) -> Evidence:
        stated = oracle_signal.linear_posterior if broken else oracle_signal.sinh_posterior
        apart, signs, drawn = [], 0, 0
        for seed, (k, d, sigma) in enumerate(((10, 5, 0.3), (20, 20, 0.3), (4, 8, 1.0), (10, 20, 0.1))):
            signal = unit(d, seed)
            x, _ = oracle_signal.draw(signal, k, sigma, 2000, np.random.default_rng(seed))
            given, scenes = stated(x, signal, sigma), oracle_signal.scene_posterior(x, signal, sigma)
            ours = bayes.posterior(law_of(signal, k, sigma), x)
            apart += [float(np.abs(given - scenes).max()), float(np.abs(ours - scenes).max())]
            signs += int((np.sign(given) != np.sign(scenes)).sum())
            drawn += len(x)
        wrong, predicted = _errors(stated)
        rule = wrong.pop("stated")
        excess = {name: mean_interval(other - rule) for name, other in wrong.items()}
        network = min((each for name, each in excess.items() if "threshold" in name), key=lambda e: e.mean)
        surprise = mean_interval(rule - predicted)
        surprised = abs(surprise.mean) / ((surprise.high - surprise.low) / (2 * REACH))
        right = (
            max(apart) <= 1e-10
            and signs == 0
            and surprised <= ERRORS
            and min(each.high for each in excess.values()) >= 0
            and min(excess["linear"].low, network.low) > 0
        )
        return Evidence(
            "holds" if right else "fails",
            {
                "posterior means differ by at most": max(apart),
                f"signs that differ on {drawn} inputs": signs,
                "its error, k = 10, d = 5, sigma = 0.3": float(rule.mean()),
                "standard errors to the error the posterior predicts": surprised,
                "more errors by the threshold network, best b": network.mean,
                "more errors by the linear rule": excess["linear"].mean,
                "more errors by the largest patch alone": excess["largest"].mean,
                "least lower end of the first two": min(excess["linear"].low, network.low),
            },
        )


def _errors(stated: Callable[..., NDArray]) -> tuple[dict[str, NDArray], NDArray]:
    """Whether each rule is wrong on each drawn input, and what the stated posterior predicts for its own."""
    k, d, sigma = 10, 5, 0.3
    signal = unit(d, 0)
    x, y = oracle_signal.draw(signal, k, sigma, DRAWS, np.random.default_rng(7))
    z = x @ signal
    rules = {
        "stated": stated(x, signal, sigma),
        "linear": z.sum(axis=1),
        "largest": np.take_along_axis(z, np.abs(z).argmax(axis=1)[:, None], axis=1)[:, 0],
    }
    for bias in BIASES:
        rules[f"threshold {bias}"] = oracle_signal.network(np.tile(signal, (k, 1)), bias, x)
    wrong = {name: (np.where(score > 0, 1.0, -1.0) != y).astype(float) for name, score in rules.items()}
    return wrong, (1 - np.abs(rules["stated"])) / 2
