"""The studies of sample complexity, driven to their verdicts by made-up rows of known learning curves."""

from functools import cache
from math import inf
from zlib import crc32

import numpy as np
import pandas as pd
import pytest

from whyconv.errors import UserError
from whyconv.papers.lahoti.exact.rates import rate
from whyconv.papers.lahoti.studies.depth import contestants as deep
from whyconv.papers.lahoti.studies.non_equivariant import ADAM, EMBEDDED
from whyconv.papers.lahoti.studies.non_equivariant import ROTATED as EMBEDDED_ROTATED
from whyconv.papers.lahoti.studies.partial_sharing import ROTATED as TURNED
from whyconv.papers.lahoti.studies.partial_sharing import SHARED
from whyconv.papers.lahoti.studies.signal_study import CNN, FCN, LCN, ROTATED, known
from whyconv.runs import Run
from whyconv.settings import configure
from whyconv.studies import Cell
from whyconv.trial import Row

SEEDS = 3
SIZES = {"sizes.low": 2, "sizes.cap": 1000, "sizes.resolution": 0.1, "excess": 0.03}
PINNED = {
    "vary-k": {"values": [10, 15, 20, 25, 30], **SIZES},
    "vary-d": {"values": [10, 15, 20, 25, 30], **SIZES},
    "vary-sigma": {"values": [0.07, 0.085, 0.1, 0.12, 0.14], **SIZES},
    "several-signals": SIZES,
    "unequal-patches": SIZES,
    "deep-signal": {"values": [10, 20], **SIZES},
    "uneven-noise": {"values": [1, 4], **SIZES},
    "non-equivariant": {"values": [10, 20], **SIZES},
    "partial-sharing": {"groups": [1, 2, 4, 10, 20], **SIZES},
    "static-signal": SIZES,
    "fcn": SIZES,
    "alignment": {"m": [100, 1000]},
    "depth": {"m": [30, 100, 300, 1000]},
}
"""What the made-up curves were made for, whatever the defaults are."""


def configured(name, seeds=SEEDS, **settings):
    """Every arm with the study's seeds and sizes, unless told otherwise."""
    arms = configure(f"lahoti.{name}").arms
    plain = {f"arms.{arm}.{field}": None for arm in arms for field in ("seeds", "largest_m")}
    return configure(f"lahoti.{name}", "quick", {**plain, **PINNED[name], **settings}, seeds)


def curve(study, trial, need, spread):
    """A risk that falls like 1/m to the target at m = need, and stays above it if need is inf."""
    goal = study.goal(Cell({}, trial.task, trial.learner))
    return goal + study.excess * ((need / trial.m if need < inf else 4) * (1 + spread) - 1)


def row(study, point, needs):
    """Noise of 2 % that seeds have in common across sizes but for a quarter of it."""
    labels, trial = point.labels, point.trial
    own = crc32(repr((labels["arm"], labels[study.axis])).encode())
    spread = np.random.default_rng([trial.seed, own]).normal()
    spread += 0.25 * np.random.default_rng([trial.seed, own, trial.m]).normal()
    result = {
        "risk": curve(study, trial, needs(labels), 0.02 * spread), "risk_is_exact": True,
        "train_flops": 1000 * trial.m + trial.seed, "test_error": 0.1, "alignment": 0.9,
        "rate": 0.1 if trial.seed == 0 else 0.3, "bias_rate": 0.03,
    }  # fmt: skip
    return Row(trial.key, trial.stem, trial.canonical(), trial.versions, "ok", result, seconds=2.0)


def completed(study, needs, rows=None):
    """All rows the plan asks for, one round after the other."""
    rows = dict(rows or {})
    for _ in range(20):
        points = study.plan(rows)
        missing = [point for point in points if point.trial.key not in rows]
        if not missing:
            return points, rows
        rows |= {point.trial.key: row(study, point, needs) for point in missing}
    raise AssertionError("the plan does not end")


def at_once(study, needs):
    """The same rows, each made the moment its trial is first spoken of: one round in place of ten."""
    rows, points_of = {}, Cell.points

    def noted(cell):
        points = points_of(cell)
        rows.update({point.trial.key: row(study, point, needs) for point in points})
        return points

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cell, "points", noted)
        patch.setattr("whyconv.studies.complexity.good", lambda rows: rows)  # seen as they come
        return study.plan(rows), rows


def judged(study, needs):
    return study.judge(study.table(*at_once(study, needs)))


def verdicts(study, needs):
    found = judged(study, needs)
    return found.evidence.verdict, found.control.verdict


def powers(axis, unit, **arms):
    """m* = c (x / unit)^p by arm, from CNN=(c, p) and so on; the rotated CNN is as slow as the LCN."""
    names = {"CNN": CNN, "LCN": LCN, "FCN": FCN, "rotated": ROTATED}
    arms = {"rotated": arms["LCN"], **arms}

    def needs(labels):
        c, p = next(arms[key] for key, name in names.items() if name == labels["arm"])
        return c * (labels[axis] / unit) ** p

    return needs


NEVER = (inf, 0)
SHALLOW, *TWO = deep()
TRUTH = {
    "vary-k": powers("k", 10, CNN=(12, 0.5), LCN=(100, 1.5), FCN=NEVER),
    "vary-d": powers("d", 10, CNN=(8, 1), LCN=(100, 1), FCN=NEVER),
    "vary-sigma": powers("sigma", 0.1, CNN=(15, 2), LCN=(150, 2), FCN=NEVER),
    "uneven-noise": powers("unevenness", 1, CNN=(20, 0.2), LCN=(300, 0.1)),
}


@cache
def truth(name):
    return judged(configured(name), TRUTH[name])


@pytest.mark.parametrize("name", TRUTH)
def test_the_truth_is_consistent_and_the_control_fails(name):
    assert (truth(name).evidence.verdict, truth(name).control.verdict) == ("consistent", "fails")


def test_exponents_are_those_of_the_truth():
    for name, told in {
        "vary-k": {"k, CNN": 0.5, "k, LCN": 1.5},
        "vary-d": {"d, CNN": 1, "d, LCN": 1},
        "vary-sigma": {"sigma, CNN": 2, "sigma, LCN": 2},
    }.items():
        numbers = truth(name).evidence.numbers
        for key, value in told.items():
            assert numbers[f"exponent in {key}"].value == pytest.approx(value, abs=0.15), key
    numbers = truth("vary-k").evidence.numbers
    assert numbers["factor at k = 30 over that at k = 10"].value == pytest.approx(3, abs=0.4)
    assert numbers["m* of LCN over CNN at k = 10"].value == pytest.approx(100 / 12, rel=0.1)
    told = truth("uneven-noise").evidence.numbers["factor at unevenness = 4 over 1"]
    assert told.value == pytest.approx(4**-0.1, rel=0.15)


def test_a_network_that_never_gets_there_needs_more_than_the_largest_sample():
    numbers = truth("vary-k").evidence.numbers
    assert str(numbers["m* of FCN over LCN at k = 10"]).startswith("at least ")
    assert 8 < numbers["m* of FCN over LCN at k = 10"].low <= 10.5


BROKEN = {
    "LCN = CNN": ("vary-k", {"LCN": (12, 0.5)}, {}, "fails"),
    "CNN grows": ("vary-k", {"CNN": (6, 1.5)}, {}, "fails"),
    "LCN does not grow": ("vary-k", {"LCN": (500, 0.2)}, {}, "fails"),
    "LCN grows too much": ("vary-k", {"LCN": (60, 2.5)}, {}, "fails"),
    "factor shrinks": ("vary-k", {"CNN": (8, 1.1), "LCN": (200, 0.9)}, {}, "fails"),
    "FCN is better": ("vary-k", {"FCN": (30, 0.5)}, {}, "fails"),
    "out of reach": ("vary-k", {}, {"sizes.cap": 150}, "undecided"),
    "one repetition": ("vary-k", {}, {"seeds": 1}, "undecided"),
    "CNN does not grow with d": ("vary-d", {"CNN": (8, 0)}, {}, "fails"),
    "CNN grows too much with d": ("vary-d", {"CNN": (4, 2)}, {}, "fails"),
    "LCN does not grow with d": ("vary-d", {"LCN": (200, 0.2)}, {}, "fails"),
    "LCN grows too much with d": ("vary-d", {"LCN": (100, 1.8)}, {}, "fails"),
    "noise does not cost CNN": ("vary-sigma", {"CNN": (15, 0.2)}, {}, "fails"),
    "noise does not cost LCN": ("vary-sigma", {"LCN": (300, 0.2)}, {}, "fails"),
    "LCN does as well": ("uneven-noise", {"LCN": (60, 0)}, {}, "fails"),
}
UNITS = {
    "vary-k": ("k", 10), "vary-d": ("d", 10), "vary-sigma": ("sigma", 0.1),
    "uneven-noise": ("unevenness", 1),
}  # fmt: skip
PLAIN = {
    "vary-k": {"CNN": (12, 0.5), "LCN": (100, 1.5), "FCN": NEVER},
    "vary-d": {"CNN": (8, 1), "LCN": (100, 1), "FCN": NEVER},
    "vary-sigma": {"CNN": (15, 2), "LCN": (150, 2), "FCN": NEVER},
    "uneven-noise": {"CNN": (20, 0.2), "LCN": (300, 0.1)},
}


@pytest.mark.parametrize("case", BROKEN)
def test_every_part_of_the_criterion_can_fail(case):
    name, changes, settings, verdict = BROKEN[case]
    needs = powers(*UNITS[name], **{**PLAIN[name], **changes})
    assert judged(configured(name, **{"seeds": SEEDS, **settings}), needs).evidence.verdict == verdict


def test_where_a_linear_filter_gets_near_nothing_is_said():
    for target, comparable in ((0.7 / 6 - 1e-4, True), (0.7 / 6 + 1e-4, False)):  # a linear filter's is 1/6
        near = configured("vary-k", target=target)
        assert near.comparable(cell(near.cells(), CNN, 20)[0]) == comparable
    found = judged(configured("vary-k", values=[4, 8]), TRUTH["vary-k"])
    assert (found.evidence.verdict, found.control.verdict) == ("vacuous", "vacuous")
    assert found.evidence.numbers == {"values where the target is out of a linear filter's reach": 0}
    assert judged(configured("vary-k", values=[6, 20]), TRUTH["vary-k"]).evidence.verdict == "vacuous"
    part = judged(configured("vary-k", values=[6, 10, 30]), TRUTH["vary-k"]).evidence
    assert part.verdict == "consistent" and not [name for name in part.numbers if "k = 6" in name]
    assert part.numbers["left out, as a linear filter gets there: k"] == "6"
    small = configured("non-equivariant", values=[4, 6])
    assert verdicts(small, NON_EQUIVARIANT) == ("vacuous", "vacuous")
    sharing = configured("partial-sharing", **{"task.patches": 6, "groups": [1, 6]})
    assert verdicts(sharing, groups(200, 0.9)) == ("vacuous", "vacuous")
    still = configured("static-signal", **{"task.patches": 12})
    assert verdicts(still, STATIC) == ("consistent", "vacuous")


# lahoti.fcn: the order of m*

CAPS = {CNN: 300, LCN: 1000, FCN: 3000, ROTATED: 300}
BOTH = [[10, 5, 0.1], [10, 20, 0.1]]


def full(seeds=SEEDS, places=BOTH, **settings):
    caps = {f"arms.{arm}.largest_m": cap for arm, cap in CAPS.items()}
    every = places if isinstance(places, dict) else dict.fromkeys(CAPS, places)
    return configured("fcn", seeds, places=every, **caps, **settings)


def order(**factors):
    """m* = 20, 100 and 600 at d = 5, in proportion to d."""
    least = {"CNN": 20, "LCN": 100, "FCN": 600, "rotated": 200, **factors}
    names = {CNN: "CNN", LCN: "LCN", FCN: "FCN", ROTATED: "rotated"}
    return lambda labels: least[names[labels["arm"]]] * labels["d"] / 5


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({}, ("consistent", "fails")),
        ({"FCN": 90}, ("fails", "fails")),
        ({"CNN": 100.5}, ("undecided", "fails")),
        ({"CNN": 110}, ("fails", "fails")),
        ({"rotated": 20}, ("consistent", "consistent")),
        ({"FCN": inf, "LCN": 1000}, ("undecided", "undecided")),
    ],
    ids=str,
)
def test_the_order_of_three_networks(changes, expected):
    found = judged(full(), order(**changes))
    assert (found.evidence.verdict, found.control.verdict) == expected
    assert len(found.evidence.numbers) == 4


def test_the_order_is_judged_where_all_three_were_measured():
    more = [*BOTH, [20, 5, 0.1]]
    found = judged(full(places={CNN: more, LCN: more, FCN: BOTH, ROTATED: BOTH[:1]}), order())
    assert not [name for name in found.evidence.numbers if "k = 20" in name]
    assert len(found.evidence.numbers) == 4 and len(found.control.numbers) == 2
    one = judged(full(), lambda labels: order(FCN=90 if labels["d"] == 20 else 600)(labels))
    assert one.evidence.verdict == "fails"  # in one place of two


# the other studies


def groups(most, power):
    return lambda labels: most / labels["group"] ** (power if labels["arm"] == SHARED else 0)


@pytest.mark.parametrize(
    "most, power, expected",
    [
        (200, 0.9, ("consistent", "fails")),
        (200, 0, ("fails", "fails")),
        (900, 1.5, ("fails", "fails")),
        (200, 0.3, ("fails", "fails")),
        (1500, 0.9, ("undecided", "undecided")),
    ],
)
def test_sharing_by_groups(most, power, expected):
    study = configured("partial-sharing")
    assert verdicts(study, groups(most, power)) == expected
    sizes = {(p.labels["arm"], p.labels["group"]) for p in study.plan({})}
    assert sizes == {(SHARED, g) for g in (1, 2, 4, 10, 20)} | {(TURNED, 1), (TURNED, 20)}
    assert all(p.trial.network.group == p.labels["group"] for p in study.plan({}))


def STATIC(labels):
    return {1.0: (15, 300), 2.0: (15, 15), 3.0: (12, 100)}[labels["case"]][labels["arm"] == LCN]


def test_a_signal_that_stays():
    study = configured("static-signal")
    found = judged(study, STATIC)
    assert (found.evidence.verdict, found.control.verdict) == ("consistent", "fails")
    told = found.evidence.numbers["factor, stays in patch 1, over moves"]
    assert told.value == pytest.approx(1 / 20, rel=0.15)
    tasks = {p.labels["the signal"]: p.trial.task for p in study.plan({})}
    assert [(task.place, task.patches) for task in tasks.values()] == [(None, 20), (1, 20), (None, 10)]

    def no_help(labels):
        return STATIC(labels | {"case": 1.0})

    assert judged(study, no_help).evidence.verdict == "fails"

    def out_of_reach(labels):
        return STATIC(labels) if labels["arm"] == CNN else {2.0: 300}.get(labels["case"], inf)

    assert judged(study, out_of_reach).evidence.verdict == "undecided"


def assumptions(half, paper, dropped):
    """m* of (CNN, LCN) with half the patches, by the paper's law, and without its assumption."""
    cases = {1: half, 2: paper, 3: dropped}
    return lambda labels: cases[labels["case"]][labels["arm"] == LCN]


DROPPED = {
    "smaller by half": ((12, 100), (15, 300), (15, 150), "consistent"),
    "smaller by little": ((12, 100), (15, 300), (15, 285), "fails"),
    "larger": ((12, 100), (15, 300), (10, 300), "fails"),
    "at the threshold": ((12, 100), (15, 300), (15, 240), "undecided"),
    "CNN not there": ((12, 100), (15, 300), (inf, 300), "consistent"),
}


@pytest.mark.parametrize("name", ["several-signals", "unequal-patches"])
@pytest.mark.parametrize("case", DROPPED)
def test_an_advantage_that_diminishes_without_an_assumption(name, case):
    *needs, verdict = DROPPED[case]
    assert verdicts(configured(name), assumptions(*needs)) == (verdict, "fails")


def test_the_control_of_dropped_assumptions_is_a_factor_that_grows_with_the_patches():
    shrinks = assumptions((15, 600), (15, 300), (15, 150))
    assert verdicts(configured("several-signals"), shrinks) == ("consistent", "consistent")


def test_assumptions_are_dropped_one_at_a_time():
    several, unequal = configured("several-signals", count=3), configured("unequal-patches", least=2)
    for study, fields in ((several, ("signals",)), (unequal, ("patch_dim", "patch_dims"))):
        tasks = {cell.labels["case"]: cell.task for cell in study.cells()}
        assert (tasks[1].patches, tasks[2].patches) == (10, 20)
        changed = {f for f in type(tasks[2]).model_fields if getattr(tasks[2], f) != getattr(tasks[3], f)}
        assert changed == set(fields)
    sizes = unequal.dropped()["patch_dims"]
    assert (sizes[0], sizes[-1], len(sizes)) == (2, 22, 20) and np.mean(sizes) == pytest.approx(12, abs=0.2)
    assert several.dropped() == {"signals": 3}
    near = configured("several-signals", count=4)
    assert verdicts(near, assumptions((12, 100), (15, 300), (15, 150)))[0] == "vacuous"  # linear filters do


def deep_needs(**changes):
    names = dict(zip(("CNN", "LCN", "FCN"), TWO, strict=True))
    needs = {**{names[key]: need for key, need in {"CNN": 10, "LCN": 90, "FCN": 400, **changes}.items()}}
    return lambda labels: needs.get(labels["arm"], inf)


def test_the_separation_with_two_layers():
    study = configured("deep-signal")
    assert verdicts(study, deep_needs()) == ("consistent", "fails")
    assert verdicts(study, deep_needs(FCN=inf)) == ("consistent", "fails")
    assert judged(study, deep_needs(FCN=60)).evidence.verdict == "fails"
    assert judged(study, deep_needs(CNN=200)).evidence.verdict == "fails"
    assert judged(study, deep_needs(LCN=inf, FCN=inf)).evidence.verdict == "undecided"
    assert verdicts(configured("deep-signal", values=[4]), deep_needs()) == ("vacuous", "vacuous")
    assert {cell.network.second_layer for cell in study.cells()} == {32}


ITERATED = {1: (0.7, 0.9), 2: (0.8, 0.3), 3: (0.8, 0.3), 10: (0.8, 0.3)}


@pytest.mark.parametrize(
    "changes, verdicts",
    [
        ({}, ("consistent", "fails")),
        ({3: (0.7, 0.3), 10: (0.7, 0.3)}, ("fails", "consistent")),
        ({10: (0.7, 0.3)}, ("fails", "fails")),
        ({10: (0.8, 0.4)}, ("fails", "fails")),
        ({10: (0.75, 0.3)}, ("undecided", "fails")),
        ({2: (0.2, 0.3), 10: (0.2, 0.3)}, ("fails", "fails")),
        ({1: (0.8, 0.3)}, ("consistent", "consistent")),
    ],
    ids=str,
)
def test_whether_two_iterations_are_enough(changes, verdicts):
    study = configure("lahoti.two-iterations", "quick", {}, 5)
    told = {**ITERATED, **changes}

    def value(labels, noise):
        alignment, risk = told[labels["iterations"]]
        return {"alignment": alignment + noise / 5, "risk": risk + noise / 5}

    found = study.judge(tabled(study, value))
    assert (found.evidence.verdict, found.control.verdict) == verdicts
    assert study.figures(tabled(study, value))


def test_iterations_are_measured_at_four_times_the_rate():
    study = configure("lahoti.two-iterations")
    for cell in study.cells():
        k, d, sigma = cell.task["patches"], cell.task["patch_dim"], cell.task["sigma"]
        asked = 4 * rate(f"{cell.labels['arm'].lower()}-upper", k, d, sigma)
        assert asked <= cell.m < max(asked + 1, 2.1)
        assert cell.learner["steps"] == cell.labels["iterations"]


def test_alignment_on_patches_of_different_size():
    sizes = [5, 10, 20, 20, 20, 20, 20, 20, 20, 20]
    study = configured("alignment", **{"task.patch_dims": sizes})
    tasks = {point.trial.task for point in study.plan({})}
    assert {task.rotated for task in tasks} == {"no", "patches"}
    assert {task.patch_dims for task in tasks} == {tuple(sizes)}


def NON_EQUIVARIANT(labels):
    return {FCN: 800, ADAM: 700, EMBEDDED: 20, EMBEDDED_ROTATED: inf}[labels["arm"]]


def test_the_algorithm_pays():
    study = configured("non-equivariant")
    assert verdicts(study, NON_EQUIVARIANT) == ("consistent", "fails")
    assert verdicts(study, lambda labels: inf if labels["arm"] == FCN else 20) == ("consistent", "consistent")
    assert judged(study, lambda labels: 50).evidence.verdict == "fails"
    late = judged(study, lambda labels: inf if labels["arm"] == FCN else 900).evidence
    assert late.verdict == "undecided"


def tabled(study, value):
    """A table of a grid's points; ``value`` gives the columns from labels, seed and noise."""
    rng = np.random.default_rng(0)
    lines = [
        {**p.labels, "seed": p.trial.seed, **value(p.labels, rng.normal(0, 0.003))} for p in study.plan({})
    ]
    return pd.DataFrame(lines)


ALIGNED = {CNN: (0.95, 0.04), LCN: (0.8, 0.1), FCN: (0.5, 0.4), ROTATED: (0.3, 0.8)}


@pytest.mark.parametrize(
    "changes, verdict",
    [
        ({}, "consistent"),
        ({FCN: (0.2, 0.4)}, "fails"),
        ({FCN: (0.25, 0.4)}, "undecided"),
        ({CNN: (0.7, 0.04)}, "fails"),
        ({LCN: (0.8, 0.01)}, "fails"),
        ({FCN: (0.85, 0.4)}, "fails"),
        ({FCN: (0.5, 0.05)}, "fails"),
    ],
    ids=str,
)
def test_alignment_and_risk_at_the_largest_size(changes, verdict):
    study = configured("alignment")
    arms = {**ALIGNED, **changes}

    def value(labels, noise):
        if labels["m"] < 1000:
            return {"alignment": 0.0, "risk": 1.0}
        return {name: arms[labels["arm"]][i] + noise for i, name in enumerate(("alignment", "risk"))}

    found = study.judge(tabled(study, value))
    assert (found.evidence.verdict, found.control.verdict) == (verdict, "fails")


ERRORS = {
    SHALLOW: [0.5, 0.5, 0.5, 0.5], TWO[0]: [0.45, 0.2, 0.05, 0.02], TWO[1]: [0.5, 0.48, 0.3, 0.1],
    TWO[2]: [0.5, 0.5, 0.49, 0.4],
}  # fmt: skip


@pytest.mark.parametrize(
    "changes, verdict",
    [
        ({}, "consistent"),
        ({SHALLOW: [0.5, 0.5, 0.5, 0.3]}, "fails"),
        ({SHALLOW: [0.3, 0.5, 0.5, 0.5]}, "fails"),
        ({TWO[0]: [0.45, 0.2, 0.05, 0.2]}, "fails"),
        ({TWO[1]: [0.45, 0.2, 0.05, 0.02]}, "fails"),
        ({TWO[2]: [0.45, 0.2, 0.05, 0.02]}, "fails"),
        ({TWO[0]: [0.45, 0.2, 0.05, 0.1]}, "undecided"),
    ],
    ids=str,
)
def test_depth(changes, verdict):
    study = configured("depth")
    errors = ERRORS | changes

    def value(labels, noise):
        return {"test_error": errors[labels["arm"]][study.m.index(labels["m"])] + noise}

    found = study.judge(tabled(study, value))
    assert (found.evidence.verdict, found.control.verdict) == (verdict, "fails")


# the plan


def keys(points):
    return [point.trial.key for point in points]


def cell(points, arm, value, axis="k"):
    return [p for p in points if p.labels["arm"] == arm and p.labels[axis] == value]


def sizes(points):
    return {point.labels["m"] for point in points}


def test_a_size_counts_when_all_its_seeds_are_in():
    study = configured("vary-k", values=[10, 20])
    first = study.plan({})
    assert sizes(first) == {45, 1000} and len(first) == 4 * 2 * 2 * SEEDS
    points, rows = completed(study, TRUTH["vary-k"])
    assert len(sizes(cell(points, CNN, 10))) > 5
    for lacking in cell(first, CNN, 10):
        fewer = study.plan({key: found for key, found in rows.items() if key != lacking.trial.key})
        assert keys(cell(fewer, CNN, 10)) == keys(cell(first, CNN, 10))
        assert keys(cell(fewer, LCN, 20)) == keys(cell(points, LCN, 20))
    later = cell(points, LCN, 10)[5 * SEEDS]
    fewer = study.plan({key: found for key, found in rows.items() if key != later.trial.key})
    assert keys(cell(fewer, LCN, 10)) == keys(cell(points, LCN, 10))[: 6 * SEEDS]


def test_an_arm_may_have_fewer_repetitions_and_is_compared_on_the_seeds_that_both_have():
    study = configured("vary-k", values=[10, 20], **{"arms.FCN.seeds": 2})
    points, rows = at_once(study, TRUTH["vary-k"])
    table = study.table(points, rows)
    assert set(table[table["arm"] == FCN]["seed"]) == {0, 1} and set(table["seed"]) == set(range(SEEDS))
    found = study.judge(table).evidence
    assert found.verdict == "consistent"
    assert str(found.numbers["m* of FCN over LCN at k = 10"]).endswith("2 repetitions")
    assert str(found.numbers["m* of LCN over CNN at k = 10"]).endswith(f"{SEEDS} repetitions")


def test_the_plan_is_a_function_of_the_rows_and_asks_for_none_twice():
    study = configured("vary-k", values=[10, 20])
    points, rows = completed(study, TRUTH["vary-k"])
    others, same = at_once(study, TRUTH["vary-k"])
    assert keys(points) == keys(others) and rows == same
    backwards = dict(reversed(list(rows.items())))
    assert keys(study.plan(rows)) == keys(study.plan(backwards)) == keys(points)
    assert len(set(keys(points))) == len(points) == len(rows)
    again = configured("vary-k", values=[10, 20, 30])
    more, _ = completed(again, TRUTH["vary-k"], rows)
    assert set(keys(points)) < set(keys(more))
    assert {p.labels["k"] for p in more if p.trial.key not in rows} == {30}
    assert all(p.trial.risk and p.trial.test_size == study.test_size for p in points)


@pytest.mark.parametrize("resolution", [0.05, 0.5])
def test_the_search_closes_in_on_m_star(resolution):
    study = configured("vary-k", values=[10, 20], **{"sizes.resolution": resolution})
    points, rows = at_once(study, TRUTH["vary-k"])
    found = study.complexities(study.table(points, rows), LCN)
    assert found[10].m_star <= max(found[10].below * (1 + resolution), found[10].below + 1)
    assert found[10].crossing == pytest.approx(100, rel=0.08 + resolution / 4)
    assert sizes(cell(points, FCN, 10)) == {45, 1000}
    assert all(2 <= m <= 1000 for m in sizes(points))


def test_every_arm_stays_in_its_range():
    study = full()
    points, _ = at_once(study, order())
    for arm, cap in CAPS.items():
        found = sizes(p for p in points if p.labels["arm"] == arm)
        assert max(found) == cap and min(found) >= 2
    wide = configured("vary-k", **{"arms.FCN.largest_m": 60, "sizes.low": 5})
    found = sizes(p for p in at_once(wide, TRUTH["vary-k"])[0] if p.labels["arm"] == FCN)
    assert found == {17, 60}


def test_the_forecast_stays_in_the_range_too():
    study = full()
    guessed = study.outlook()
    for name, cap in {"lsa-cnn": 300, "lsa-lcn": 1000, "lsa-fcn": 3000}.items():
        found = {trial.m for trial in guessed if trial.network.name == name}
        assert max(found) == cap and min(found) >= 2 and 4 <= len(found) <= 9


def failing(study, rows, labels):
    """The rows, but with one trial of this place failed."""
    point = next(p for p in study.plan(rows) if all(p.labels[name] == v for name, v in labels.items()))
    trial = point.trial
    failed = Row(trial.key, trial.stem, trial.canonical(), trial.versions, "failed", error="memory")
    return rows | {trial.key: failed}


@pytest.mark.parametrize(("arm", "m", "left"), [(LCN, 1000, {45, 1000}), (CNN, 45, {45, 1000})])
def test_a_failed_trial_stops_its_search_and_no_other(tmp_path, arm, m, left):
    study = configured("vary-k", values=[10, 20])
    whole, rows = at_once(study, TRUTH["vary-k"])
    broken = failing(study, rows, {"arm": arm, "k": 10, "m": m})
    points = study.plan(broken)
    assert sizes(cell(points, arm, 10)) == left < sizes(cell(whole, arm, 10))
    stopped = keys(cell(points, arm, 10))
    assert [key for key in keys(whole) if key in stopped or key not in keys(cell(whole, arm, 10))] == keys(
        points
    )
    (table,) = study.tables(study.table(points, broken)).values()
    told = {1000: "> 45", 45: "<= 1000"}[m]
    assert table.set_index(["arm", "k"])["m*"][arm, 10].cell == told
    assert Run(study, points, broken, tmp_path, "").verdict == "incomplete"
    assert completed(study, TRUTH["vary-k"], broken)[0] == points  # no round asks for more
    mended = {key: row for key, row in broken.items() if row.status == "ok"}
    assert completed(study, TRUTH["vary-k"], mended) == (whole, rows)


def test_a_search_that_fails_in_the_middle_goes_on_as_if_it_had_not():
    study = configured("vary-k", values=[10, 20])
    whole, rows = at_once(study, TRUTH["vary-k"])
    for m in sizes(cell(whole, LCN, 10)):
        broken = failing(study, rows, {"arm": LCN, "k": 10, "m": m})
        points = keys(study.plan(broken))
        assert points == [key for key in keys(whole) if key in points]  # never a trial of another search
        mended = {key: row for key, row in broken.items() if row.status == "ok"}
        assert keys(completed(study, TRUTH["vary-k"], mended)[0]) == keys(whole)


# what is shown


def test_the_table_tells_what_it_took():
    study = configured("vary-k", values=[10, 20])
    points, rows = at_once(study, TRUTH["vary-k"])
    table = study.table(points, rows)
    ((title, shown),) = study.tables(table).items()
    assert "Examples needed" in title and len(shown) == 8
    lines = shown.set_index(["arm", "k"])
    assert lines["m*"][FCN, 10].cell == lines["m*"][FCN, 20].cell == "> 1000"
    found = study.complexities(table, LCN)[10]
    assert lines["m*"][LCN, 10] == found and found.low > 80
    assert lines["operations"][LCN, 10] == 1000 * found.m_star + (SEEDS - 1) / 2
    assert lines["operations"][FCN, 10] == 1e6 + (SEEDS - 1) / 2
    assert lines["seconds"][CNN, 20] == 2 and lines["runs"][CNN, 20] == SEEDS
    assert lines["step sizes"][CNN, 20] == "0.3/0.03 (2), 0.1/0.03 (1)"
    oracle, linear = known(next(study.cells()).task)
    assert lines["target"][LCN, 10] == oracle + 0.03 and lines["linear filter"][LCN, 10] == linear
    easy = at_once(study, powers("k", 10, CNN=(0.5, 0), LCN=(100, 1.5), FCN=NEVER))
    (shown,) = study.tables(study.table(*easy)).values()
    assert shown.set_index(["arm", "k"])["m*"][CNN, 10].cell == "<= 2"


def test_a_target_of_ones_own():
    study = configured("vary-k", target=0.08)
    assert {study.goal(each) for each in study.cells()} == {0.08}
    with pytest.raises(UserError, match=r"at k = 30 the oracle's risk is 0.04567; take a larger one"):
        configured("vary-k", target=0.045)


def test_what_is_drawn():
    study = configured("vary-k", values=[10, 20])
    points, rows = at_once(study, TRUTH["vary-k"])
    drawn = study.drawn(study.table(points, rows))
    assert list(drawn.columns) == ["arm", "x", "m", "low", "high", "cap", "count"] and len(drawn) == 8
    missed = drawn[drawn["arm"] == FCN]
    assert missed["m"].isna().all() and set(missed["cap"]) == {1000} and set(missed["high"]) == {inf}
    theory = study.theory(drawn)
    assert set(theory["arm"]) == {CNN, LCN}
    for (arm, _), part in theory.groupby(["arm", "label"]):
        measured = drawn[drawn["arm"] == arm]["m"]
        assert np.log(part["y"]).mean() == pytest.approx(np.log(measured).mean())
    upper = theory[theory["label"] == "σ²k(k+d) ln(kd)"].set_index("x")["y"]
    assert upper[20] / upper[10] == pytest.approx(20 * 40 * np.log(400) / (10 * 30 * np.log(200)))


SHOWN = {
    "vary-k": TRUTH["vary-k"],
    "fcn": order(),
    "partial-sharing": groups(200, 0.9),
    "static-signal": STATIC,
}


@pytest.mark.parametrize("name", SHOWN)
def test_figures_and_tables_at_every_stage(name):
    study = full(2) if name == "fcn" else configured(name, 2)
    points, rows = at_once(study, SHOWN[name])
    some = {key: rows[key] for key in keys(study.plan({}))[:7]}
    arms = len(list(study.cells()))
    for found, count in (({}, 0), (some, 2), (rows, arms)):
        table = study.table(points, found)
        assert len(study.drawn(table)) == len(next(iter(study.tables(table).values()), ())) == count
        if found is not some or name == "vary-k":
            assert study.figures(table)


def test_small_sizes_say_nothing_of_the_order():
    assert verdicts(full(2, [[4, 5, 0.1], [6, 5, 0.1]]), order()) == ("vacuous", "vacuous")


@pytest.mark.parametrize("name", ["alignment", "depth"])
def test_figures_of_the_grids_at_every_stage(name):
    study = configured(name)
    columns = {"risk": 0.2, "alignment": 0.5, "test_error": 0.3}
    table = tabled(study, lambda labels, noise: {key: value + noise for key, value in columns.items()})
    for part in (pd.DataFrame(), table[:5], table):
        assert study.figures(part)


@pytest.mark.parametrize("name, setting, sentence", [
    ("vary-k", "task.sigma=-1", "sigma = -1 was given: input should be greater than 0"),
    ("vary-k", "values=[20,10]", "two or more increasing numbers, as in"),
    ("vary-k", "values=[20]", "two or more increasing numbers, as in"),
    ("vary-k", "sizes.resolution=0", "greater than 0"),
    ("vary-d", "task=detection", "the task detection has no known oracle; this study needs the task signal"),
    ("vary-d", "sizes.low=1000", "low = 1000 and cap = 1000 were given.*take low < cap"),
    ("vary-sigma", "values=[-0.1,0.1]", "sigma = -0.1 was given: input should be greater than 0"),
    ("several-signals", "count=21", "signals = 21 do not fit into patches = 20; take signals <="),
    ("several-signals", "count=1", "greater than or equal to 2"),
    ("two-iterations", "iterations=[2,3,10]", "must be 1, 2, 3 and larger numbers, increasing, as in"),
    ("two-iterations", "iterations=[1,2,3]", "must be 1, 2, 3 and larger numbers, increasing, as in"),
    ("deep-signal", "values=[20,10]", "increasing numbers above 0, as in"),
    ("uneven-noise", "values=[0.5,2]", "uneven = 0.5 was given: input should be greater than or equal to 1"),
    ("partial-sharing", "groups=[4,2]", "two or more increasing numbers above 0, as in"),
    ("partial-sharing", "groups=[0,2]", "two or more increasing numbers above 0, as in"),
    ("fcn", "places.CNN=[[10,5,0.1]]", "share 1 sizes .*but an order at one is not an order"),
    ("rates", "places.FCN=[[10,5,0.1],[10,20,0.1]]", "FCN has 2 places"),
    ("rates", "places.FCN=[[10,5,0.1],[10,6,0.1],[10,7,0.1],[10,8,0.1],[10,9,0.1],[10,9,0.2]]",
     "FCN has 6 places .* six or more, with differences in each of the three"),
    ("vary-k", "arms.CNN.network=mlp", ""),
    ("alignment", "arms.CNN.learner.rates=[]", "give one or more different step sizes"),
])  # fmt: skip
def test_bad_settings_get_a_sentence(name, setting, sentence):
    if not sentence:
        assert configure(f"lahoti.{name}", "quick", [setting]).plan({})
        return
    with pytest.raises(UserError, match=sentence):
        configure(f"lahoti.{name}", "quick", [setting]).plan({})
