"""How often each rival rate would be rejected if a rate were the truth: the power of ``lahoti.rates``.

    python bench/rates_power.py [--runs 400] [--preset quick]

Synthetic m* at the places and with the seeds of the study: log m* = log rate + lack of fit of the place +
noise of the seed, both normal. The noise per seed is what pilot runs on seeds 0 to 7 showed (``NOISE``), the
lack of fit is assumed (``MISFIT``). Judged by the study's own rule. Prints the tables of docs/rates.md.
"""

from __future__ import annotations

import argparse
from math import exp
from typing import Any

import numpy as np
from scipy import stats

from whyconv.measure.complexity import SampleComplexity
from whyconv.measure.scaling import exponents
from whyconv.papers.lahoti.exact.rates import RATES, RIVALS
from whyconv.papers.lahoti.studies.rivals import DIRECTIONS, compared, middle
from whyconv.settings import configure

NOISE = {"CNN": 0.4, "LCN": 0.25, "FCN": 0.4}
"""The standard deviation over seeds of the pseudo-values of log m*."""
MISFIT = 0.1
"""The standard deviation of log m* around the rate, place by place."""
TRUTHS = (("CNN", "cnn-upper"), ("LCN", "lcn-upper"), ("LCN", "lcn-lower"), ("FCN", "fcn-lower"))
KINDS = ("upper", "lower", "growth")


def made(logs: np.ndarray) -> SampleComplexity:
    """An m* whose pseudo-values are ``logs``."""
    count, mean = len(logs), float(logs.mean())
    reach = float(stats.t.ppf(0.975, count - 1) * logs.std(ddof=1) / count**0.5)
    ends = (exp(mean), exp(mean - reach), exp(mean + reach))
    return SampleComplexity(1, 1, *ends, 1, count, 0.95, tuple(range(count)), tuple(logs.tolist()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--preset", default="quick")
    asked = parser.parse_args()
    study: Any = configure("lahoti.rates", asked.preset)
    for network, bound in TRUTHS:
        truth, places = RATES[bound], study.places[network]
        seeds, centre = study.arms[network].seeds, middle(places)
        rng = np.random.default_rng(20)
        rivals = {rate.formula: rate for rate in (truth, *RIVALS[network])}
        counts = {(name, kind): {"fails": 0, "consistent": 0} for name in rivals for kind in KINDS}
        widths = []
        for _ in range(asked.runs):
            points = []
            for place in places:
                at = np.log(truth(*place)) + rng.normal(0, MISFIT) + rng.normal(0, NOISE[network], seeds)
                points.append((dict(zip(("k", "d", "sigma"), place, strict=True)), made(at)))
            found = exponents(points, DIRECTIONS)
            widths.append([(found[ray].high - found[ray].low) / 2 for ray in DIRECTIONS])
            for name, rate in rivals.items():
                for kind in KINDS:
                    verdict = compared(kind, rate, found, centre).verdict
                    if verdict in counts[name, kind]:
                        counts[name, kind][verdict] += 1
        half = ", ".join(
            f"{ray} {w:.2f}" for ray, w in zip(DIRECTIONS, np.median(widths, axis=0), strict=True)
        )
        print(
            f"\n{network}, truth {truth.formula}: {len(places)} places, {seeds} seeds; half-widths: {half}\n"
        )
        print("| rate | " + " | ".join(f"rejected as {kind}" for kind in KINDS) + " | called consistent |")
        print("|---|---|---|---|---|")
        for name in rivals:
            cells = [f"{100 * counts[name, kind]['fails'] / asked.runs:.0f} %" for kind in KINDS]
            agreed = [f"{100 * counts[name, kind]['consistent'] / asked.runs:.0f}" for kind in KINDS]
            shown = f"**{name}**" if name == truth.formula else name
            print(f"| {shown} | {' | '.join(cells)} | {', '.join(agreed)} % |", flush=True)


if __name__ == "__main__":
    main()
