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


def fig3a(**changes):
    fields = {
        "task": "detection",
        "network": "conv-pool",
        "learner": "gradient",
        "m": 3,
        "seed": 4,
        **changes,
    }
    return Trial(**fields)


def test_a_trial_with_another_seed_is_the_one_made_with_that_seed():
    given, made = fig3a().seeded(9), fig3a(seed=9)
    assert given == made != fig3a()
    for name in ("key", "stem", "program", "versions", "form"):
        assert getattr(given, name) == getattr(made, name), name
    assert given.canonical() == made.canonical()
    assert (given.key, given.stem) != (fig3a().key, fig3a().stem)
    for seed in (-1, 2**31):
        with pytest.raises(ValueError, match=f"seed = {seed} was given; give one from 0 to 2147483647"):
            fig3a().seeded(seed)


def test_a_copy_forgets_what_was_computed_of_other_values():
    trial = fig3a()
    before = trial.key, trial.stem, trial.program
    copied = trial.model_copy(update={"m": 7, "task": build("task", {"name": "detection", "positions": 3})})
    made = fig3a(m=7, task={"name": "detection", "positions": 3})
    assert (copied.key, copied.stem, copied.program) == (made.key, made.stem, made.program)
    assert (trial.key, trial.stem, trial.program) == before
