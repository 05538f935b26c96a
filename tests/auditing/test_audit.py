"""An audit from data to result: phases, whole rounds, resuming, the same rows again."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from whyconv.auditing import planted, planted_run
from whyconv.auditing.answer import Answer
from whyconv.auditing.arms import ARMS, CNN, FCN, LCN, networks, windows
from whyconv.auditing.dataset import BadData, Dataset, from_arrays
from whyconv.auditing.design import designed
from whyconv.auditing.keeping import keep
from whyconv.auditing.phases import MAJORITY, PERMUTED_FCN
from whyconv.auditing.result import PRIORS
from whyconv.auditing.results import FEWEST, result
from whyconv.auditing.rounds import least_step, whole_rounds
from whyconv.execution import execute
from whyconv.networks import Network
from whyconv.paths import run_folder, use_run_folder
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Options
from whyconv.runner.recompute import recompute
from whyconv.spec import build
from whyconv.tasks._splits import split
from whyconv.trial import Row


def small(kind="shift", count=80, length=12, **fields):
    dataset = planted.planted(kind, count, length, 3, 0)
    usual = {"orders": 3, "order_steps": 5, "order_size": 20, "steps": 20, "seeds": 3, "extensions": 0}
    usual |= {"rates": (0.004,), "channels": 4, "windows": (3,), "sizes": (30, 60), "arms": (FCN, LCN)}
    return dataset, designed(dataset).model_copy(update={**usual, **fields})


def made_up(study, error):
    """Rows of a plan played to its end; ``error(labels, seed)`` is the outcome."""
    rows, points = {}, study.plan({})
    while missing := [p for p in points if p.trial.key not in rows]:
        for p in missing:
            value = error(p.labels, p.trial.seed)
            found = dict.fromkeys(("test_error", "test_logloss", "train_error"), value)
            found |= {"stopped": "loss", "epochs": 5, "train_loss": 0.01}
            rows[p.trial.key] = Row(p.trial.key, "", {}, {}, "ok", found)
        points = study.plan(rows)
    return points, rows


def falling(labels, seed):
    """LCN's examples count four times, FCN's once; order matters."""
    name = labels["arm"].removeprefix("permuted ")
    chance = np.random.default_rng([seed, len(name), labels["m"], int(1000 * labels.get("rate", 0))])
    noise = 0.002 * chance.standard_normal()
    if labels["arm"] in (MAJORITY, "linear", "forest", "shuffled labels", "permuted winner"):
        return 0.5
    if labels["phase"] == "order":
        return 0.4 + noise + (0.05 if labels["order"] else 0)
    worth = {FCN: 1.0, PERMUTED_FCN: 1.0}.get(labels["arm"], 4.0)
    return 2 * (worth * labels["m"]) ** -0.5 + noise


def test_rounds_go_on_until_all_is_decided_and_the_factor_is_found():
    _, study = small(count=800, sizes=(37, 75, 150, 300, 600), arms=ARMS[:7], seeds=40)
    points, rows = made_up(study, falling)
    found = result(study, points, rows)
    assert [each.prior for each in found.savings] == list(PRIORS)
    locality = found.savings[0]
    assert locality.verdict == "saves" and locality.low < 4 < locality.high
    assert (locality.without, locality.given, locality.instead_of) == (FCN, LCN, 600)
    assert found.order.verdict == "not seen", "three orders cannot show anything"
    assert found.rounds in (5, 10, 20, 40) and found.controls[0].fine is True
    seeds = {p.trial.seed for p in points if p.labels["phase"] == "measured"}
    assert len(seeds) == found.rounds


def test_a_permuted_fcn_that_seems_better_is_a_false_alarm():
    _, study = small(count=800, sizes=(75, 150, 300, 600), seeds=5)
    points, rows = made_up(
        study, lambda labels, seed: falling(labels, seed) * (0.7 if labels["arm"] == PERMUTED_FCN else 1)
    )
    found = result(study, points, rows)
    assert found.controls[0].fine is False and any("false alarm" in text for text in found.warnings)


def test_an_error_in_the_smallest_class_moves_a_balanced_error_most():
    chance = np.random.default_rng(0)
    for rare in (24, 60, 1):
        y = chance.permutation((np.arange(300) < rare) + 2 * (np.arange(300) >= 200))
        dataset = Dataset(
            "d", chance.standard_normal((300, 1, 12, 1)).astype(np.float32), y, ("a", "b", "c"), "series"
        )
        tests = [split(y, None, 300, 75, np.random.default_rng(seed)).test for seed in range(40)]
        fewest = max(1, min(np.bincount(y[rows], minlength=3).min() for rows in tests))
        step = least_step(designed(dataset, metric="balanced"))
        assert 1 / (3 * (fewest + 1)) <= step <= 1 / (3 * fewest), (
            "the smallest class, up to one by the split"
        )
        assert least_step(designed(dataset, metric="error")) == 1 / 75
    assert whole_rounds(designed(dataset, metric="balanced"), [], {}).grain == step == 1 / 3


def test_only_whole_rounds_count_and_few_give_no_factor():
    _, study = small(seeds=3)
    points, rows = made_up(study, falling)
    assert result(study, points, rows).rounds == 3
    lost = next(p.trial.key for p in reversed(points) if p.labels["phase"] == "measured")
    less = {key: row for key, row in rows.items() if key != lost}
    found = result(study, points, less)
    assert found.rounds == 2 < FEWEST
    assert {each.verdict for each in found.savings} == {"not judged"}
    assert all(each.factor is None for each in found.savings) and found.forecast is None


def test_nothing_is_judged_unless_the_majority_is_beaten():
    _, study = small(count=800, sizes=(75, 150, 300, 600), seeds=5)
    points, rows = made_up(study, lambda labels, seed: 0.5 + 0.01 * np.sin(seed * labels["m"]))
    found = result(study, points, rows)
    assert {each.verdict for each in found.savings} == {"not judged"}
    assert "majority" in found.savings[0].why


def test_an_arm_that_is_behind_and_still_learning_is_not_judged():
    _, study = small(count=800, sizes=(37, 75, 150, 300, 600), seeds=5)
    points, rows = made_up(study, falling)
    for p in points:
        if p.labels["arm"] == FCN and p.labels["phase"] == "measured":
            row = rows[p.trial.key]
            slow = {**row.result, "stopped": "cap", "epochs": 8, "train_loss": 0.2}
            rows[p.trial.key] = Row(
                row.key, "", {}, {}, "ok", slow, {"loss_at_epochs_2^i": [1, 0.8, 0.6, 0.2]}
            )
    found = result(study, points, rows)
    assert found.savings[0].verdict == "not judged" and "FCN" in found.savings[0].why
    assert any("FCN was still learning" in text for text in found.warnings)


def test_an_audit_runs_resumes_and_its_rows_can_be_made_again(tmp_path):
    dataset, study = small()
    keep(dataset, tmp_path, study.task.data)
    before = run_folder()
    use_run_folder(tmp_path)
    try:
        first = complete(study, tmp_path, Options(workers=1, preset="quick"))
        again = complete(study, tmp_path, Options(workers=1, preset="quick"))
        assert first.rows == again.rows and all(row.status == "ok" for row in first.rows.values())
        found = result(study, first.points, first.rows, out=str(tmp_path))
        assert found.rounds == 3 and {arm.name for arm in found.arms} == {FCN, LCN}
        assert {each.name for each in found.references} == {"majority", "logistic", "forest"}
        assert found.savings[1].verdict == "not judged" and "left out" in found.savings[1].why
        assert len(recompute(tmp_path, 2).same) == 2
    finally:
        use_run_folder(before)


class _NoCheckpoint:
    def load(self):
        return None

    def save(self, arrays):
        pass


@pytest.mark.parametrize("kind", ["many", "real"])
def test_images_of_many_classes_and_real_targets(tmp_path, kind):
    chance = np.random.default_rng(0)
    x = chance.standard_normal((60, 5, 5, 1)).astype(np.float32)
    y = np.arange(60) % 3 if kind == "many" else 3 + x[:, 2, 2, 0].astype(float)
    dataset = Dataset("d", x, y, ("a", "b", "c") if kind == "many" else (), "image", np.arange(60) // 2)
    study = designed(dataset).model_copy(update={"steps": 40, "channels": 4})
    keep(dataset, tmp_path, study.task.data)
    before = run_folder()
    use_run_folder(tmp_path)
    try:
        network = networks(study.task.grid, study.outputs, 3, 4)[CNN]
        trial = study.cell({"arm": CNN}, network, 40, 0.01, range(1)).points()[0].trial
        found, _ = execute(trial, lambda fraction: None, _NoCheckpoint())
        wanted = {"test_mse"} if kind == "real" else {"test_error", "test_balanced", "test_logloss"}
        assert {name for name in found if name.startswith("test_")} == wanted
        if kind == "real":
            assert 0 < found["train_mse"] < np.var(y)
    finally:
        use_run_folder(before)


def test_designs():
    chance = np.random.default_rng(0)
    x = chance.standard_normal((400, 1, 30, 1)).astype(np.float32)
    even, rare = np.arange(400) % 2, (np.arange(400) < 30).astype(int)
    assert designed(Dataset("d", x, even, ("a", "b"), "series")).metric == "error"
    assert designed(Dataset("d", x, rare, ("a", "b"), "series")).metric == "balanced"
    assert designed(Dataset("d", x, x[:, 0, 0, 0], (), "series")).metric == "mse"
    study = designed(Dataset("d", x, even, ("a", "b"), "series"))
    assert study.sizes == (18, 37, 75, 150, 300) and study.windows == (3, 4, 8)
    with pytest.raises(BadData, match="give auto, error"):
        designed(Dataset("d", x, even, ("a", "b"), "series"), metric="mse")
    with pytest.raises(BadData, match="no arm 'RNN'"):
        designed(Dataset("d", x, even, ("a", "b"), "series"), arms=["RNN"])
    other = designed(Dataset("d", x, even, ("a", "b"), "series"), random_state=1)
    assert other.task == study.task and other.first_seed != study.first_seed


def test_every_random_state_has_seeds_of_its_own():
    x, y = np.zeros((400, 1, 30, 1), np.float32), np.arange(400) % 2

    def state(number):
        return designed(Dataset("d", x, y, ("a", "b"), "series"), random_state=number)

    seeds = [state(number).first_seed for number in (0, 1, 999, 1000, 1500, 2_000_000)]
    assert len(set(seeds)) == 6
    state(2_000_000).plan({})  # no seed is out of range
    for bad in (-1, 2_000_001, 0.5):
        with pytest.raises(BadData, match="whole number from 0"):
            state(bad)


def test_the_best_arm_and_more_data_need_no_folder():
    _, study = small(count=800, sizes=(75, 150, 300, 600), arms=ARMS[:7], seeds=5)
    points, rows = made_up(study, falling)
    answer = Answer(result(study, points, rows, out="nowhere"), study)
    best = answer.best
    assert best is not None and best.get_params()["grid"] == (1, 12, 1)
    setup = study.tuned(rows)[1][answer.result.best]
    assert best.get_params()["rate"] == setup.rate
    m = answer.more_data(error=0.04).needed
    assert m is not None and 400 < m < 900, "2 (4 m)^-1/2 = .04 at m = 625"
    for bad in (-0.1, float("nan"), "few"):
        with pytest.raises(BadData, match="give a number from 0 up"):
            answer.more_data(bad)
    assert answer.to_json() == answer.result.to_json() and next(iter(answer.to_json())) == "data"
    few = Answer(result(study, points, dict(list(rows.items())[:30])), study)
    assert few.best is None and few.more_data(error=0.04).needed is None


@pytest.mark.parametrize("flat", [False, True])
def test_the_best_arm_takes_the_same_array_as_the_audit(flat):
    """Channels first, on their axes or flat: the audit and its winner see the same pictures."""
    x, y = np.random.default_rng(0).standard_normal((80, 3, 6, 5)), np.arange(80) % 2
    x = x.reshape(80, -1) if flat else x
    dataset = from_arrays(x, y, grid="6x5x3", channels="first")
    study = designed(dataset).model_copy(update={"seeds": 3})
    points, rows = made_up(study, falling)
    best = Answer(result(study, points, rows), study, channels_first=True).best
    assert best is not None
    best.set_params(epochs=1, scale="none").fit(x, y)
    plain = clone(best).set_params(channels_first=False).fit(dataset.x, y)
    np.testing.assert_array_equal(best.predict_proba(x), plain.predict_proba(dataset.x))


def test_the_target_is_part_of_the_study():
    _, study = small(count=800, sizes=(75, 150, 300, 600), seeds=5, target=0.045)
    points, rows = made_up(study, falling)
    found = result(study, points, rows)
    assert found.forecast is not None and found.forecast.target == 0.045
    assert study.question == study.model_copy(update={"target": None, "budget": 9.0}).question
    assert study.question != study.model_copy(update={"arms": (FCN,)}).question


def test_windows_and_layers():
    assert windows((1, 160, 1)) == (3, 10, 20, 40) and windows((28, 28, 1)) == (3, 4, 7)
    assert windows((1, 2, 1)) == (2,)
    for grid, layers in (((28, 28, 1), 2), ((8, 8, 1), 1), ((1, 60, 3), 1)):
        for name, spec in networks(grid, 10, 3, 16).items():
            network = build("network", spec)
            assert isinstance(network, Network) and not network.refusal(grid)
            depth = len(getattr(network, "channels", None) or network.widths)
            assert depth == (1 if name == "bag" else layers)


@pytest.mark.parametrize("kind", planted.KINDS)
def test_planted_data_are_what_they_say(kind):
    found = planted.planted(kind, 400, 30, 5, 3)
    again = planted.planted(kind, 400, 30, 5, 3)
    assert (found.x == again.x).all() and abs(found.y.mean() - 0.5) < 0.01
    assert (planted.planted(kind, 400, 30, 5, 4).x != found.x).any()


def test_grades():
    def found(**verdicts):
        _, study = small()
        whole = result(study, [], {})

        savings = tuple(
            replace(each, verdict=verdicts.get(each.prior, each.verdict)) for each in whole.savings
        )
        return replace(whole, savings=savings)

    right = found(locality="saves", sharing="no difference", pooling="costs")
    assert planted_run.overall(planted_run.grades("local", right)) == "right"
    wrong = found(locality="saves", sharing="saves", pooling="costs")
    assert planted_run.grades("local", wrong)["sharing"] == "wrong"
    assert planted_run.overall(planted_run.grades("local", found(locality="saves"))) == "undecided"
    assert planted_run.overall(planted_run.grades("noise", found())) == "right"
    assert "1 of 1" in planted_run.table([{"kind": "noise", "grades": planted_run.grades("noise", found())}])
