"""Brutzkus & Globerson, section 5, parts 1 and 2: the start and the first layer's descent.

The lemmas on the descent are checked at every step of real runs of LW_CNN at the largest step and radius
that Theorem 5.1 allows, along two trajectories that share no code (vectors with an explicit argmax; sets
of patterns with multiplicities). Sizes (d, l, n): four with as many patterns as dimensions, one with
fewer. ``pattern_dim`` = d, ``patterns`` = l, ``positions`` = n, ``channels`` = k = 8 d^3 + 1.
"""

from __future__ import annotations

from math import exp
from typing import Any, ClassVar

from whyconv.claims import Claim
from whyconv.exact import pattern_sets
from whyconv.lazy import np
from whyconv.papers.brutzkus.exact import layerwise, max_pooling
from whyconv.papers.brutzkus.exact import lucky_filters as exact
from whyconv.papers.brutzkus.exact.first_layer import Schedule, initial, lucky
from whyconv.papers.brutzkus.exact.layerwise import Run
from whyconv.papers.brutzkus.exact.lucky_filters import class_share_failure, luck
from whyconv.verdict import Evidence, Verdict

SIZES = ((3, 3, 3), (4, 4, 4), (5, 5, 4), (6, 6, 4), (5, 3, 4))
AGREE = 1e-9
"""The two trajectories may differ by this fraction of eta_1; they differ by about 1e-15."""


def runs(**breaks: Any) -> list[Run]:
    """The runs of all sizes, with the given departures from the theorem's conditions."""
    return [layerwise.run(*size, **breaks) for size in SIZES]


class Lemma52(Claim, name="brutzkus.lemma5.2"):
    """With probability 1 - 4e^(-d) both counts of lucky filters lie between k/(4d) and k/d.

    True for l = d. For l < d a filter's luck depends on l, p = (1 - 2^(1-l)) / (2(l-1)), and the printed
    range is missed almost surely; with l in place of d in the range it holds again (with 4e^(-d) still, by
    the same Hoeffding bound, as k > 8 d^3 >= 8 d l^2). Routes: the exact trinomial tail by conditioning in
    floating point and by counting in integers; p itself against filters drawn from the sphere.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Lemma 5.2"
    expected: ClassVar[Verdict] = "holds as corrected"
    broken: ClassVar = "8 d + 1 channels, violating k > 8 d^3"

    def decide(self, broken: str) -> Evidence:
        printed, corrected, gap = {}, {}, 0.0
        for dim, patterns in ((3, 3), (4, 4), (5, 5), (8, 8), (10, 10), (6, 3), (8, 3), (10, 5), (20, 10)):
            channels, p = 8 * dim ** (1 if broken else 3) + 1, exact.luck(patterns)
            for table, size in ((printed, dim), (corrected, patterns)):
                low, high = exact.count_range(channels, size)
                table[dim, patterns] = exact.failure(channels, float(p), low, high)
                if dim <= 6:
                    counted = exact.failure_by_counting(channels, p, low, high)
                    gap = max(gap, abs(table[dim, patterns] / counted - 1))
        bound = {size: exact.lemma_bound(size[0]) for size in printed}
        off = max(_deviation(patterns) for patterns in (3, 5))
        agree = gap <= 1e-9 and off <= 4
        repaired = agree and all(corrected[size] <= bound[size] for size in bound)
        square = all(printed[size] <= bound[size] for size in bound if size[0] == size[1])
        as_printed = square and all(printed[size] <= bound[size] for size in bound)
        verdict: Verdict = "fails"
        if repaired and square:
            verdict = "holds" if as_printed else "holds as corrected"
        return Evidence(
            verdict,
            {
                "failure, d = l = 3": printed[3, 3],
                "allowed, d = 3": bound[3, 3],
                "failure, d = l = 5": printed[5, 5],
                "failure as printed, d = 6, l = 3": printed[6, 3],
                "failure with l for d, d = 6, l = 3": corrected[6, 3],
                "allowed, d = 6": bound[6, 3],
                "relative gap of the two sums": gap,
                "drawn filters, standard errors off": off,
            },
        )


def _deviation(patterns: int) -> float:
    """|share of lucky filters among 100,000 drawn - p| in standard errors, in dimension patterns + 3."""
    size = 100_000
    filters, readout = initial(np.random.default_rng(52), Schedule(size, 0, 1.0, 1.0), patterns + 3)
    found = lucky(filters[:, :patterns], readout)[0].mean()
    p = float(luck(patterns))
    return float(abs(found - p) / np.sqrt(p * (1 - p) / size))


def _grows(run: Run, own: int) -> tuple[float, float, float]:
    """What Lemma 5.3 (own = 0) or Corollary 5.4 (own = 1) bounds, the worse of the two trajectories.

    Over all steps and lucky filters: min of o_own . w / (t eta_1 / 9) for t >= 1, max of o_j . w / r for
    j != own, and the share of (step, filter, input of the own class) whose strongest pattern is not o_own. At
    t = 0 the first bound is positivity, part of the definition of luck.
    """
    luck, label = run.lucky[own], (1, -1)[own]
    times = np.arange(1, run.schedule.steps + 1)
    growth, others = [], []
    for products in (run.filters[:, luck] @ run.basis.T, run.scores[:, luck]):
        growth.append((products[1:, :, own].min(axis=1) / (times * run.schedule.step / 9)).min())
        others.append(np.delete(products, own, axis=2).max() / run.schedule.radius)
    indices, labels = run.first
    inputs, content = run.inputs[labels == label], indices[labels == label]
    wrong = 0.0
    for filters in run.filters[:, luck]:
        scores = inputs @ filters.T
        chosen = np.take_along_axis(content, scores.argmax(axis=1), axis=1)
        wrong += float(np.mean((chosen != own) | (scores.max(axis=1) <= 0))) / len(run.filters)
    return float(min(growth)), float(max(others)), wrong


def _growth_evidence(runs: list[Run], own: int) -> Evidence:
    growth, others, wrong = zip(*(_grows(run, own) for run in runs), strict=True)
    share = min(run.class_share for run in runs)
    apart = max(run.disagreement for run in runs)
    holds = min(growth) >= 1 and max(others) <= 1 + 1e-12 and max(wrong) == 0 and apart <= AGREE
    granted: Verdict = "holds" if share >= 1 / 3 else "undecided"
    return Evidence(
        granted if holds else "fails",
        {
            "lucky filters": sum(int(run.lucky[own].sum()) for run in runs),
            "least growth / (t eta/9)": min(growth),
            "largest other product / r": max(others),
            "share of inputs detected wrongly": max(wrong),
            "smaller class's share of S_1": share,
            "two trajectories differ by (eta)": apart,
        },
    )


class Lemma53(Claim, name="brutzkus.lemma5.3"):
    """Lucky filters grow: o_1.w >= t eta_1/9, o_j.w <= r for j != 1, and o_1 is what they detect on S_1^+.

    Checked at every t <= T_1 for every positively lucky filter. The lemma is deterministic once both classes
    have a third of S_1 (Eq. 14); as printed it lacks that clause, which Theorem 5.1 pays for with
    4 e^(-m/36). The exact probability of missing Eq. 14 is compared with that for m_1 up to 300.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Lemma 5.3 (C.3)"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "S_1 with one positive example in ten, violating Eq. 14"

    def decide(self, broken: str) -> Evidence:
        ratio = max(float(class_share_failure(m)) / (4 * exp(-m / 18)) for m in range(1, 301))
        found = _growth_evidence(runs(positive_share=0.1) if broken else runs(), own=0)
        numbers = {**found.numbers, "P(Eq. 14 fails) / 4e^(-m/36), largest": ratio}
        return Evidence(found.verdict if ratio <= 1 else "fails", numbers)


class Corollary54(Claim, name="brutzkus.cor5.4"):
    """The mirror of Lemma 5.3 for o_2 and the negatively lucky filters."""

    reference: ClassVar[str] = "Brutzkus & Globerson, Corollary 5.4"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "a step 1000 times too large: the outputs leave [-1/2, 1/2] and growth stalls"

    def decide(self, broken: str) -> Evidence:
        return _growth_evidence(runs(step_factor=1000.0) if broken else runs(), own=1)


class LemmaC1(Claim, name="brutzkus.lemmaC.1"):
    """Every filter stays small: |w_i^(t)| <= eta_1 (t + 1) for all t <= T_1.

    Along the second trajectory the part of a filter outside the span of the patterns, which never moves,
    is added from the start.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Lemma C.1"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "a starting radius 1000 times too large (r = 5 eta_1)"

    def decide(self, broken: str) -> Evidence:
        descents = runs(radius_factor=1000.0) if broken else runs()
        on_inputs, on_sets = [], []
        for run in descents:
            allowed = run.schedule.step * np.arange(1, run.schedule.steps + 2)
            on_inputs.append((np.linalg.norm(run.filters, axis=2).max(axis=1) / allowed).max())
            inner = (run.scores**2).sum(axis=2)
            outer = run.schedule.radius**2 - inner[0]
            on_sets.append((np.sqrt(np.maximum(inner + outer, 0)).max(axis=1) / allowed).max())
        return _bounded("largest norm / (eta (t+1))", on_inputs, on_sets, descents)


class LemmaC2(Claim, name="brutzkus.lemmaC.2"):
    """The network's output stays small while the first layer learns: |N(x)| <= 1/2 on S_1 for all t <= T_1.

    The proof gives 1/4, since k eta_1 (t + 1) <= 1/4.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Lemma C.2"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "a step 1000 times too large"

    def decide(self, broken: str) -> Evidence:
        descents = runs(step_factor=1000.0) if broken else runs()
        on_inputs, on_sets = [], []
        for run in descents:
            seen = pattern_sets.count(*run.first, run.patterns) > 0
            vectors = run.inputs
            values = [max_pooling.forward(filters, run.readout, vectors) for filters in run.filters]
            on_inputs.append(2 * np.abs(values).max())
            values = [pattern_sets.outputs(scores, run.readout)[seen] for scores in run.scores]
            on_sets.append(2 * np.abs(values).max())
        return _bounded("largest |N| / (1/2)", on_inputs, on_sets, descents)


class Lemma55(Claim, name="brutzkus.lemma5.5"):
    """No pattern excites any filter beyond 2 eta_1 t, for 1 <= t <= T_1.

    Checked on every input of the support of D. The lemma prints 1 <= j <= d for the position j; n is meant.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Lemma 5.5"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "a starting radius 1000 times too large (r = 5 eta_1)"

    def decide(self, broken: str) -> Evidence:
        descents = runs(radius_factor=1000.0) if broken else runs()
        on_inputs, on_sets = [], []
        for run in descents:
            times = np.arange(1, run.schedule.steps + 1)
            allowed = 2 * run.schedule.step * times
            support = max_pooling.embed(max_pooling.support(run.positions, run.patterns)[0], run.basis)
            excited = [(support @ run.filters[t].T).max() for t in times]
            on_inputs.append((np.array(excited) / allowed).max())
            on_sets.append((run.scores[1:].max(axis=(1, 2)) / allowed).max())
        return _bounded("largest x[j].w / (2 eta t)", on_inputs, on_sets, descents)


def _bounded(what: str, on_inputs: list[Any], on_sets: list[Any], runs: list[Run]) -> Evidence:
    """*holds* if both routes stay at or below 1 and agree with each other."""
    first, second = float(max(on_inputs)), float(max(on_sets))
    gap = max(abs(a / b - 1) for a, b in zip(on_inputs, on_sets, strict=True))
    holds = max(first, second) <= 1 and gap <= AGREE
    return Evidence(
        "holds" if holds else "fails",
        {
            f"{what}, vectors": first,
            f"{what}, sets": second,
            "runs": len(runs),
            "steps in each": runs[0].schedule.steps,
            "filters in all": sum(run.schedule.channels for run in runs),
            "two trajectories differ by (eta)": max(run.disagreement for run in runs),
        },
    )
