"""Specs take no truth for a number, wherever it is given."""

import pytest

from whyconv.errors import UserError
from whyconv.settings import configure
from whyconv.spec import build, checked
from whyconv.trial import Trial


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"m": [True]}, "brutzkus.fig3a: m = [true] was given"),
        ({"m": [40, False]}, "brutzkus.fig3a: m = [40,false] was given"),
        ({"seeds": True}, "brutzkus.fig3a: seeds = true was given"),
        ({"task.positions": True}, "task detection: positions = true was given"),
        ({"arms.SVM.seeds": True}, "seeds = true was given"),
        ({"arms.MLP.network.width": False}, "width = false was given"),
    ],
)
def test_true_and_false_are_no_numbers(settings, said):
    with pytest.raises(UserError) as caught:
        configure("brutzkus.fig3a", "quick", settings)
    assert said in str(caught.value)
    assert str(caught.value).endswith("but true and false are not numbers; give a number.")


def test_true_and_false_are_taken_where_they_belong():
    assert configure("brutzkus.fig3a", "quick", {"exact": True, "task.scrambled": True}).exact is True
    assert build("network", {"name": "mlp", "coupled": True}).canonical()["coupled"] is True


def test_a_word_in_place_of_true_is_told_as_such():
    with pytest.raises(UserError, match="images"):
        configure("malach.fig1", "quick", {"task.images": True})


def test_seeds_of_a_trial():
    with pytest.raises(UserError, match=r"trial: seed = true was given"):
        checked(
            Trial,
            {"task": "detection", "network": "mlp", "learner": "gradient", "m": 3, "seed": True},
            "trial",
        )
