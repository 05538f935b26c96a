"""The claims on rates, decided on the rows of a real run of their study, kept as an asset.

The run takes a minute or two, so it is not repeated here. Whoever changes the study, or a piece that it
trains, makes the asset anew:  python tests/papers/lahoti/test_lahoti_rates_claims.py
"""

import json
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
from every_claim import EveryClaim, check, control

from whyconv.papers.lahoti.claims import rates
from whyconv.settings import configure
from whyconv.trial import Row

ASSET = Path(__file__).parents[2] / "assets" / "lahoti-fcn-quick.json"
STUDY = configure("lahoti.fcn", "quick")


@cache
def recorded():
    risks = json.loads(ASSET.read_text())
    rows = {key: Row(key, "", {}, {}, "ok", {"risk": risk}) for key, risk in risks.items()}
    return STUDY.plan(rows), rows


rates.measured = cache(lambda: (STUDY, STUDY.table(*recorded())))  # in place of a run


class TestEveryClaim(EveryClaim):
    paper = "Lahoti et al."
    modules = ("lahoti.claims.rates",)
    twice = ("lahoti.ordering",)


def test_the_asset_has_every_row_the_study_asks_for():
    points, rows = recorded()
    missing = [point.labels for point in points if point.trial.key not in rows]
    assert not missing, "the study or a piece it trains has changed; make the asset anew (see the top)"
    assert {point.trial.key for point in points} == set(rows)


def slope(name, evidence):
    (text,) = [text for told, text in evidence(name).numbers.items() if told.startswith("slope")]
    return text.value


@pytest.mark.parametrize("name", ["cnn-upper", "lcn-upper", "lcn-lower", "fcn-lower"])
def test_a_wrong_power_divides_the_slope(name):
    power = 1 / 3 if name.endswith("upper") else 3
    name = f"lahoti.{name}"
    assert slope(name, control) == pytest.approx(slope(name, check) / power, rel=0.03)
    assert 0.6 < slope(name, check) < 1.2


if __name__ == "__main__":
    from whyconv.runner.coordinator import complete

    with tempfile.TemporaryDirectory() as folder:
        out = sys.argv[1] if len(sys.argv) > 1 else folder  # a folder that has the rows already
        rows = complete(STUDY, out).rows
    ASSET.write_text(json.dumps({key: row.result["risk"] for key, row in rows.items()}, indent=0) + "\n")
