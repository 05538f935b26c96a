"""The claims on rates, decided on the rows of a real run of their study, kept as an asset.

The run takes a minute or two, so it is not repeated here. Whoever changes the study, or a piece that it
trains, makes the asset anew:  PYTHONPATH=tests/helpers python tests/papers/lahoti/test_lahoti_rates_claims.py
"""

import json
import math
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from every_claim import EveryClaim, check

from whyconv.exact.transcription import DIFFER
from whyconv.papers.lahoti.claims import rates
from whyconv.papers.lahoti.exact.rates import Rate
from whyconv.papers.lahoti.studies.signal_study import CNN, FCN, LCN
from whyconv.record.serving import Measured
from whyconv.registry import find
from whyconv.trial import Row

ASSET = Path(__file__).parents[2] / "assets" / "lahoti-rates-check.json"
STUDY = rates.part(0)


@cache
def recorded():
    risks = json.loads(ASSET.read_text())
    rows = {key: Row(key, "", {}, {}, "ok", {"risk": risk}) for key, risk in risks.items()}
    return STUDY.plan(rows), rows


# in place of a run
rates.measured = cache(
    lambda first_seed: (STUDY, Measured(STUDY.table(*recorded()), "computed"))
)  # in place of a run


class TestEveryClaim(EveryClaim):
    paper = "Lahoti et al."
    modules = ("lahoti.claims.rates",)
    twice = ("lahoti.cnn-upper",)


def test_the_asset_has_every_row_the_study_asks_for():
    points, rows = recorded()
    missing = [point.labels for point in points if point.trial.key not in rows]
    assert not missing, "the study or a piece it trains has changed; make the asset anew (see the top)"
    assert {point.trial.key for point in points} == set(rows)


RATES = {"lahoti.cnn-upper": CNN, "lahoti.lcn-upper": LCN, "lahoti.lcn-lower": LCN, "lahoti.fcn-lower": FCN}


def exponent(name, ray, evidence=check):
    return evidence(name).numbers[f"exponent of m* in {ray}"]


@pytest.mark.parametrize("name", RATES)
def test_exponents_are_those_of_three_measured_places(name):
    """Three places determine the plane: solved by hand from the m* that the claim shows."""
    star = rates.STARS[RATES[name]]
    numbers = check(name).numbers
    logs = [math.log(numbers[f"m* at k = {k}, d = {d}, sigma = {s:g}"].crossing) for k, d, s in star]
    model = [[1, math.log(k), math.log(d)] for k, d, _ in star]
    _, in_k, in_d = np.linalg.solve(model, logs)
    told = [exponent(name, ray).value for ray in ("k", "d", "k and d")]
    assert told == pytest.approx([in_k, in_d, in_k + in_d])
    assert exponent(name, "k").spare == 0
    assert numbers["decided by"].startswith("whyconv run lahoti.rates --preset paper")


@pytest.mark.parametrize("name", RATES)
def test_three_places_confirm_nothing(name, monkeypatch):
    """A bound that every growth satisfies is not confirmed, and one that none satisfies is contradicted."""
    upper = name.endswith("upper")
    monkeypatch.setattr(rates.pinned, "rates", lambda *names: 0)
    for power, verdict in ((9, "undecided" if upper else "fails"), (-9, "fails" if upper else "undecided")):
        monkeypatch.setitem(rates.RATES, name.removeprefix("lahoti."), Rate("", ((power, power),)))
        assert find("claim", name)().check().verdict == verdict


@pytest.mark.parametrize("name", RATES)
def test_a_rate_unlike_the_printed_one_fails_also_where_no_measurement_contradicts_it(name, monkeypatch):
    loose = ((9, 9),) if name.endswith("upper") else ((0, 0),)
    monkeypatch.setitem(rates.RATES, name.removeprefix("lahoti."), Rate("", loose))
    evidence = find("claim", name)().check()
    assert evidence.verdict == "fails" and evidence.numbers[DIFFER] == 3
    assert check(name).numbers[DIFFER] == 0


if __name__ == "__main__":
    from whyconv.runner.coordinator import complete

    with tempfile.TemporaryDirectory() as folder:
        out = sys.argv[1] if len(sys.argv) > 1 else folder  # a folder that has the rows already
        rows = complete(STUDY, out).rows
    ASSET.write_text(json.dumps({key: row.result["risk"] for key, row in rows.items()}, indent=0) + "\n")
