"""A change of an arm goes to its control, and names the arm wherever it is shown."""

import pandas as pd
import pytest

from whyconv import naming
from whyconv.report.charts import curves
from whyconv.settings import changes, configure


def test_a_change_of_network_or_learner_goes_to_the_control():
    changed = configure("brutzkus.fig3a", "quick", {"arms.ConvPool.network.stride": 10})
    arms = changed.arms
    assert arms["ConvPool, scrambled input"].network == arms["ConvPool"].network
    assert arms["ConvPool, scrambled input"].network.stride == 10
    assert arms["ConvPool, scrambled input"].task == {"scrambled": True}
    assert arms["MLP"] == configure("brutzkus.fig3a").arms["MLP"]
    assert len(changes(changed, "quick")) == 2
    slow = configure("lahoti.vary-k", "quick", {"arms.CNN.learner.steps": 7}).arms
    assert slow["CNN on rotated patches"].learner.steps == 7 != slow["LCN"].learner.steps


def test_what_is_given_for_the_control_wins():
    given = {"arms.ConvPool.network.stride": 10, "arms.ConvPool, scrambled input.network.stride": 5}
    for order in (given, dict(reversed(given.items()))):
        arms = configure("brutzkus.fig3a", "quick", order).arms
        assert (arms["ConvPool"].network.stride, arms["ConvPool, scrambled input"].network.stride) == (10, 5)


def test_other_settings_of_an_arm_and_of_its_control_stay():
    arms = configure("brutzkus.fig3a", "quick", {"arms.ConvPool.seeds": 2}).arms
    assert arms["ConvPool, scrambled input"].seeds is None
    arms = configure("brutzkus.fig3a", "quick", {"arms.ConvPool, scrambled input.network.stride": 10}).arms
    assert arms["ConvPool"].network.stride != 10


@pytest.mark.parametrize(
    "change, name",
    [
        ("arms.A.network.stride=10", "A (stride=10)"),
        ('arms.A.network={"name":"repeated-pool","pool":2}', "A (repeated-pool pool 2)"),
        ('arms.A={"name":"partly-shared","group":4}', "A (partly-shared group 4)"),
    ],
)
def test_an_arm_is_named_by_its_change(change, name):
    assert naming.names_of(["A", "B"], [change, "task.noise=1"]) == {"A": name}
    assert naming.names_of(["AB"], [change]) == {}


def test_a_chart_shows_the_name_and_nothing_of_the_old_one():
    rows = [{"arm": arm, "m": m, "seed": 0, "test_error": 1 / m} for arm in ("A", "B") for m in (2, 4)]
    drawn = curves(pd.DataFrame(rows), "m", "test_error", title="t", x_title="m", y_title="error")
    spec = naming.chart(drawn, {"A": "A (stride=10)"}).to_dict()
    assert spec["usermeta"]["whyconv"]["arms"][0]["name"] == "A (stride=10)"
    assert '"A"' not in str(spec).replace("'", '"') and '"B"' in str(spec).replace("'", '"')
    assert naming.chart(drawn, {}) is drawn
