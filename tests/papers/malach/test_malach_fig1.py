"""Figure 1 of Malach & Shalev-Shwartz: matched parameters, and how it is judged."""

import pandas as pd
import pytest

from whyconv.errors import UserError
from whyconv.papers.malach.studies.fig1 import deep
from whyconv.settings import configure
from whyconv.studies.images import permuted, shuffled, started_alike

TWINS = [permuted("CNN"), permuted("FCN"), shuffled("CNN")]


def study(**changes):
    return configure("malach.fig1", "quick", {"task.images": "cifar-10", "task.batches": [1, 2], **changes})


def judged(levels):
    """The verdicts where every arm of a kind has one accuracy, but for (kind, number of the width)."""
    chosen = study()
    means = {
        "CNN": 0.5,
        "FCN": 0.4,
        permuted("CNN"): 0.38,
        permuted("FCN"): 0.4,
        shuffled("CNN"): 0.1,
    } | levels
    lines = []
    for point in chosen.plan({}):
        arm, seed = point.labels["arm"], point.trial.seed
        kind = arm if arm in TWINS else arm.partition(",")[0]
        budgets = [*chosen._budgets(point.labels["depth"]), chosen.largest_fcn]
        place = budgets.index(point.labels["budget"])
        mean = means.get((kind, place), means[kind])
        lines.append({**point.labels, "seed": seed, "accuracy": mean + 0.003 * (seed % 3 - 1)})
        lines[-1]["first_loss"] = means.get("first_loss", 2.3) if arm == permuted("FCN") else 2.3
    return chosen.judge(pd.DataFrame(lines))


def test_as_the_paper_has_it():
    found = judged({})
    assert found.evidence.verdict == "consistent"
    assert found.control.verdict == "fails"


@pytest.mark.parametrize(
    "levels",
    [
        {"FCN": 0.55, permuted("FCN"): 0.55},  # the FCN is ahead
        {("FCN", 2): 0.46},  # the CNN is ahead of the largest FCN, but by less than 0.05
        {("FCN", 2): 0.55},  # it is behind
        {"CNN": 0.42, ("CNN", 0): 0.47},  # clearly ahead at one width only
        {("CNN", 1): 0.43, "FCN": 0.3, permuted("FCN"): 0.3},  # the wider CNN is clearly worse
        {("FCN", 2): 0.33},  # the largest FCN is
        {"CNN": 0.55, ("FCN", 1): 0.47, (permuted("FCN"), 1): 0.47},  # it is, against the second
    ],
)
def test_it_can_fail(levels):
    assert judged(levels).evidence.verdict == "fails"


@pytest.mark.parametrize(
    "levels",
    [
        {shuffled("CNN"): 0.2},
        {permuted("FCN"): 0.3},
        {"first_loss": 2.31},  # the twin does not start like the FCN
    ],
)
def test_sanity_decides_nothing(levels):
    assert judged(levels).evidence.verdict == "undecided"
    assert judged({"first_loss": 2.30001}).evidence.verdict == "consistent"


def test_rounding_may_grow_with_some_seeds_and_not_with_most():
    def amplified(seeds):
        lines = [
            {"arm": arm, "seed": seed, "first_loss": 2.3 + 0.01 * (arm == "twin" and seed < seeds)}
            for arm in ("twin", "FCN")
            for seed in range(8)
        ]
        return started_alike(pd.DataFrame(lines), "twin", "FCN", 0.5).verdict

    assert [amplified(seeds) for seeds in (0, 3, 4, 5, 8)] == [*["consistent"] * 3, "fails", "fails"]


def test_what_fails_is_opposed_by_what_must_pass():
    found = judged({"FCN": 0.55, permuted("FCN"): 0.55})
    assert (found.evidence.verdict, found.control.verdict) == ("fails", "consistent")
    blind = judged({"CNN": 0.12, permuted("CNN"): 0.1})
    assert (blind.evidence.verdict, blind.control.verdict) == ("fails", "fails")


def test_an_advantage_over_a_narrow_fcn_alone_is_no_advantage():
    """The permuted CNN is ahead of FCNs of as many parameters, not of the largest."""
    levels = {permuted("CNN"): 0.45, ("FCN", 2): 0.43}
    assert [each.verdict for each in (judged(levels).evidence, judged(levels).control)] == [
        "consistent", "fails",
    ]  # fmt: skip


def test_the_control_is_no_formality():
    assert judged({permuted("CNN"): 0.5}).control.verdict == "consistent"


def test_an_fcn_stands_beside_every_cnn_with_as_many_parameters():
    chosen = study(widths=[16, 64, 256], largest_fcn=3_000_000)
    sizes = {}
    for point in chosen.plan({}):
        trial = point.trial
        count = trial.network.parameter_count(trial.task.shape)
        sizes.setdefault((point.labels["depth"], point.labels["budget"]), {})[point.labels["arm"]] = count
    assert len(sizes) == 8
    for depth in (2, 4):
        (largest,) = sizes.pop((depth, 3_000_000)).values()
        assert largest == pytest.approx(3_000_000, abs=3100 + 1000 * depth)
    for (depth, budget), counts in sizes.items():
        assert counts[deep("CNN", depth)] == budget
        # one unit of a common width more or less is 3072 inputs and its neighbours
        assert counts[deep("FCN", depth)] == pytest.approx(budget, abs=3100 + 20 * depth)
        if depth == 2:
            assert counts[permuted("FCN")] == counts[deep("FCN", 2)]
            assert counts[permuted("CNN")] == counts.get(shuffled("CNN"), budget) == budget
    # 3 x 3 x 3 x 16 + 16, 3 x 3 x 16 x 16 + 16, and 8 x 8 x 16 x 10 + 10
    assert min(budget for depth, budget in sizes if depth == 2) == 448 + 2320 + 10250


def test_samples_are_no_larger_than_the_set():
    plan = configure("malach.fig1", "paper", {"task.batches": [1, 2]}).plan({})
    assert {(p.trial.m, p.trial.test_size) for p in plan} == {(20_000, 10_000)}
    assert configure("malach.fig1", "paper").task.batches == (1, 2, 3, 4, 5)
    embedded = configure("malach.fig1", "quick", {"task.images": "digits"})
    assert {(p.trial.m, p.trial.test_size) for p in embedded.plan({})} == {(1297, 500)}
    assert "embedded 8 x 8 digits" in embedded.unjudged()
    assert "scikit-learn" in embedded.remarks()
    assert "1,297 of them are trained on (m = 16,000 is more than there are)." in embedded.remarks()
    assert "is more than there are" not in study().remarks()
    assert len({p.trial.key for p in embedded.plan({})}) == len(embedded.plan({}))
    assert study().unjudged() == ""
    assert "20,000 of 50,000 training images" in study().remarks()
    assert "are 4 to 296 neurons wide" in study().remarks()


def test_batches_are_those_of_cifar_10_in_order():
    keys = [study(**{"task.batches": batches}).plan({})[0].trial.key for batches in ([1, 2], [2, 1], [1])]
    assert keys[0] == keys[1] != keys[2]
    for batches in ([7], [], [1, 1]):
        with pytest.raises(UserError, match="of cifar-10 were asked for"):
            study(**{"task.batches": batches})
    # sets without batches ignore those that were found for CIFAR-10
    assert (
        configure("malach.fig1", "quick", {"task.images": "mnist", "task.batches": [1]}).task.batches is None
    )


def test_bad_settings():
    with pytest.raises(UserError, match="increasing"):
        study(widths=[64, 16])
    with pytest.raises(UserError, match="largest_fcn = 50,000 was given; the widest CNN has 115,146"):
        study(largest_fcn=50_000)
    with pytest.raises(UserError, match="needs the task image-classes"):
        study(task="detection")
