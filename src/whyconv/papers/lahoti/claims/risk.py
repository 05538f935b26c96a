"""Lahoti et al., the law of signals: the risk of locally connected networks, and the best rule of all.

The paper's full text was not available; both statements are derived for the reconstructed law, one noisy
signed signal in one of k patches. Sizes: ``patches`` = k, ``patch_dim`` = d.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from whyconv import execution
from whyconv.claims import Claim, Instance
from whyconv.claims.seeds import draw_seeds
from whyconv.exact.signal import bayes
from whyconv.exact.signal.law import SignalLaw
from whyconv.exact.signal.risk import population_risk
from whyconv.lazy import NDArray, jax, np
from whyconv.measure.intervals import mean_interval
from whyconv.papers.lahoti.exact import oracle_signal
from whyconv.spec import build, once
from whyconv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from whyconv.tasks.signal import Signal

SEEDS, DRAWS = 24, 2048
"""Signals and filters for every setting, and inputs drawn for each."""
BIASES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Thresholds b of the network that knows w*; its error is least in between."""
SAMPLED = 6
"""Up to so many patches the task's own sampler is compared as well."""
ERRORS, AGREE = 4.0, 1e-12
"""Standard errors that a sampled number may be off; the difference of exact routes that is rounding."""
POWERS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
"""Exponents p of the rules sign sum_t sign(u_t) |u_t|^p, which a search compares with the best rule."""


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
    ``population_risk``; the formula with m and M by quadrature; the mean of (y - f)^2 over 2,048 inputs drawn
    in NumPy and, for k <= 6, by the task's own sampler. Nine networks (shared filters or not, along or
    against the signal, in the ball or on it), each with 24 signals and sets of filters; the mean deviation of
    the samples, in standard errors, must be below 4 for every network and sampler.
    """

    reference: ClassVar[str] = "Lahoti et al., population risk (our derivation)"
    provenance: ClassVar = "derived"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "patches": "k patches of noise beside the signal's, not k - 1",
        "sigma": "sigma 1 % larger in the formula",
        "quiet": "no noise in the signal's patch in the closed form",
        "last": "a sampler that never puts the signal into the last patch",
    }

    def decide(self, broken: str) -> Evidence:
        found = [_compared(case, number, broken) for number, case in enumerate(CASES)]
        gap = max(each.gap for each in found)
        by_numpy = max(abs(each.off[0]) for each in found)
        by_task = max(
            abs(each.off[1]) for each, case in zip(found, CASES, strict=True) if case.patches <= SAMPLED
        )
        return Evidence(
            "holds" if gap <= AGREE and max(by_numpy, by_task) <= ERRORS else "fails",
            {
                "networks and laws": len(CASES),
                "signals and sets of filters for each": SEEDS,
                "closed form and quadrature differ by": gap,
                "standard errors between formula and NumPy's samples, largest": by_numpy,
                "standard errors between formula and the task's samples, largest": by_task,
                "least risk": min(min(each.risks) for each in found),
                "largest risk": max(max(each.risks) for each in found),
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        """Both exact routes at laws and networks as uneven as the statement allows."""
        rng = np.random.default_rng([31, seed])
        found = []
        for _ in range(20):
            k, d = int(rng.integers(2, 20)), int(rng.integers(1, 12))
            sigma, bias = float(np.exp(rng.uniform(-3, 1))), float(rng.uniform(0, 1.2))
            signal, filters = rng.standard_normal(d), rng.standard_normal((k, d))
            signal /= np.linalg.norm(signal)
            filters *= rng.uniform(0.01, 1, (k, 1)) / np.linalg.norm(filters, axis=1, keepdims=True)
            closed = population_risk(law_of(signal, k, sigma), filters, bias)
            stated = oracle_signal.stated_risk(filters, bias, signal, sigma)
            found.append(
                Instance(
                    abs(closed - stated) / (AGREE * max(1.0, stated)),
                    {"k": k, "d": d, "sigma": sigma, "b": bias, "risk": stated},
                )
            )
        return {"difference of the exact routes / 1e-12": max(found, key=lambda each: each.ratio)}


class _Compared(NamedTuple):
    """One case: the largest gap between exact routes; how far samples are off, by route; the risks."""

    gap: float
    off: tuple[float, float]
    risks: list[float]


def _compared(case: _Case, number: int, broken: str) -> _Compared:
    """The routes to the risk for every seed; ``broken`` as in :class:`Risk`."""
    k, d, sigma = case.patches, case.patch_dim, case.sigma
    task = build("task", {"name": "signal", "patches": k, "patch_dim": d, "sigma": sigma})
    gaps, risks, off = [], [], []
    for seed in draw_seeds(SEEDS):
        rng = np.random.default_rng([number, seed, 2])
        signal, drawn = _by_task(task, seed) if k <= SAMPLED else (unit(d, seed), None)
        filters = _filters(case, signal, seed)
        law = replace(law_of(signal, k, sigma), noisy_signal=broken != "quiet")
        closed = population_risk(law, filters, case.bias)
        told = (filters, case.bias, signal, sigma * (1.01 if broken == "sigma" else 1))
        stated = oracle_signal.stated_risk(*told, noise_patches=k - (0 if broken == "patches" else 1))
        held = k - (1 if broken == "last" else 0)
        x, y = oracle_signal.draw(signal, held, sigma, DRAWS, rng)
        x = np.concatenate([x, sigma * rng.standard_normal((DRAWS, k - held, d))], axis=1)
        samples = [
            oracle_signal.sampled_risk(filters, case.bias, *each) for each in ((x, y), drawn or (x, y))
        ]
        gaps.append(abs(closed - stated))
        risks.append(stated)
        off.append([(mean - stated) / error for mean, error in samples])
    together = np.sum(off, axis=0) / SEEDS**0.5
    return _Compared(max(gaps), (float(together[0]), float(together[1])), risks)


@once
def _by_task(task: Signal, seed: int) -> tuple[NDArray, tuple[NDArray, NDArray]]:
    """The signal of a world of the task, and inputs with labels by its own sampler."""
    with jax.enable_x64(True):
        world, draws = jax.random.split(jax.random.key(seed))
        x, y = (np.asarray(part) for part in execution.draw(task, world, draws, DRAWS))
        return task.law(world).table[0, 0], (x, y)


def _filters(case: _Case, signal: NDArray, seed: int) -> NDArray:
    """k filters, all at the cosine ``aligned`` to the signal; or at smaller ones, of different lengths.

    These grow with the patch's number, so that the risk depends on where signals are.
    """
    rng = np.random.default_rng([seed, 1])
    count = 1 if case.shared else case.patches
    across = rng.standard_normal((count, len(signal)))
    across -= (across @ signal)[:, None] * signal
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    lengths = np.ones(1) if case.shared else np.sort(rng.uniform(0.5, 1.0, count))
    cosines = case.aligned * (np.ones(1) if case.shared else np.sort(rng.uniform(0.5, 1.0, count)))
    w = cosines[:, None] * signal + np.sqrt(1 - cosines**2)[:, None] * across
    return np.broadcast_to(case.stretch * lengths[:, None] * w, (case.patches, len(signal)))


class Bayes(Claim, name="lahoti.bayes"):
    """The best rule is sign sum_t sinh(<w*, x_t> / sigma^2), and no other rule errs less.

    More exactly, E[y | x] = sum_t sinh(u_t) / sum_t cosh(u_t), u_t = <w*, x_t> / sigma^2. Routes: that
    formula; Bayes' rule over the 2k scenes from their densities; ``signal_bayes``, which adds up logarithms
    patch by patch. They are equal on every drawn input, at four laws with 24 signals each. Then errors at
    k = 10, d = 5, sigma = 0.3 on 2,048 inputs for each of 24 signals: its own is what the posterior predicts;
    the linear rule sign sum_t <w*, x_t> and the threshold network with w* and the best of eight b (chosen
    on these very inputs) err more often; following the largest |<w*, x_t>| alone is close, but not better.
    """

    reference: ClassVar[str] = "Lahoti et al., Bayes rule (our derivation)"
    provenance: ClassVar = "derived"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "linear": "the linear rule sign sum_t <w*, x_t> in place of the sum of sinh",
        "largest": "the patch with the largest |<w*, x_t>| alone, which errs hardly more often",
        "sigma": "sigma 1 % larger in the rule, which leaves nearly all signs as they are",
    }

    def decide(self, broken: str) -> Evidence:
        stated = STATED[broken]
        apart, signs, drawn = [], 0, 0
        for number, (k, d, sigma) in enumerate(((10, 5, 0.3), (20, 20, 0.3), (4, 8, 1.0), (10, 20, 0.1))):
            for seed in draw_seeds(SEEDS):
                signal = unit(d, seed)
                rng = np.random.default_rng([number, seed])
                x, _ = oracle_signal.draw(signal, k, sigma, 100, rng)
                given, scenes = stated(x, signal, sigma), oracle_signal.scene_posterior(x, signal, sigma)
                ours = bayes.posterior(law_of(signal, k, sigma), x)
                apart += [float(np.abs(given - scenes).max()), float(np.abs(ours - scenes).max())]
                signs += int((np.sign(given) != np.sign(scenes)).sum())
                drawn += len(x)
        every = [_errors(stated, seed) for seed in draw_seeds(SEEDS)]
        rule = np.array([each["stated"] for each in every])
        surprise = mean_interval(rule - [each["predicted"] for each in every], 0.9999)
        excess = {
            name: mean_interval([each[name] - each["stated"] for each in every])
            for name in every[0]
            if name not in ("stated", "predicted")
        }
        network = min((each for name, each in excess.items() if "threshold" in name), key=lambda e: e.mean)
        right = (
            max(apart) <= 1e-10
            and signs == 0
            and 0 in surprise
            and min(each.high for each in excess.values()) >= 0
            and min(excess["linear"].low, network.low) > 0
        )
        return Evidence(
            "holds" if right else "fails",
            {
                "posterior means differ by at most": max(apart),
                f"signs that differ on {drawn} inputs": signs,
                "its error, k = 10, d = 5, sigma = 0.3": mean_interval(rule),
                "its error minus the one the posterior predicts, 99.99 % interval": surprise,
                "more errors by the threshold network, best b": network,
                "more errors by the linear rule": excess["linear"],
                "more errors by the largest patch alone": excess["largest"],
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        """Other rules at random laws; errors and risks given the inputs, from the densities of the scenes.

        The rules: sums of powers, and networks with every threshold and the scale that suits them best.
        """
        rng = np.random.default_rng([32, seed])
        errors, risks = [], []
        for _ in range(10):
            k, sigma = int(np.exp(rng.uniform(np.log(2), 4))), float(np.exp(rng.uniform(-2, 1)))
            signal = unit(3, int(rng.integers(2**32)))
            x, _ = oracle_signal.draw(signal, k, sigma, 500, rng)
            mean, stated = (
                rule(x, signal, sigma)
                for rule in (oracle_signal.scene_posterior, oracle_signal.sinh_posterior)
            )
            z, where = x @ signal, {"k": k, "sigma": sigma}
            powers = [(np.sign(z) * np.abs(z) ** power).sum(axis=1) for power in POWERS]
            networks = [
                oracle_signal.network(np.tile(signal, (k, 1)), bias, x)
                for bias in np.quantile(np.abs(z), np.linspace(0, 0.98, 25))
            ]
            own, *others = (
                float((1 - np.sign(score) * mean).mean()) / 2 for score in (stated, *powers, *networks)
            )
            if min(others) > 0:
                errors.append(Instance(own / min(others), where))
            fits = [float((mean * f).mean()) ** 2 / float((f**2).mean()) for f in networks]
            risks.append(Instance(max(fits) / float((2 * stated * mean - stated**2).mean()), where))
        found = {
            "errors of the rule / of the best other": errors,
            "1 - risk of the best network with w* / of the rule": risks,
        }
        return {name: max(cases, key=lambda each: each.ratio) for name, cases in found.items() if cases}


STATED: dict[str, Callable[..., NDArray]] = {
    "": oracle_signal.sinh_posterior,
    "linear": oracle_signal.linear_posterior,
    "largest": oracle_signal.largest_posterior,
    "sigma": lambda x, signal, sigma: oracle_signal.sinh_posterior(x, signal, 1.01 * sigma),
}
"""The rule, and what takes its place in each control."""


def _errors(stated: Callable[..., NDArray], seed: int) -> dict[str, float]:
    """The share of drawn inputs on which each rule is wrong; "predicted": the stated one by its posterior."""
    k, d, sigma = 10, 5, 0.3
    signal = unit(d, seed)
    x, y = oracle_signal.draw(signal, k, sigma, DRAWS, np.random.default_rng([7, seed]))
    z = x @ signal
    rules = {
        "stated": stated(x, signal, sigma),
        "linear": z.sum(axis=1),
        "largest": np.take_along_axis(z, np.abs(z).argmax(axis=1)[:, None], axis=1)[:, 0],
    }
    for bias in BIASES:
        rules[f"threshold {bias}"] = oracle_signal.network(np.tile(signal, (k, 1)), bias, x)
    wrong = {name: float((np.where(score > 0, 1.0, -1.0) != y).mean()) for name, score in rules.items()}
    return {**wrong, "predicted": float(((1 - np.abs(rules["stated"])) / 2).mean())}
