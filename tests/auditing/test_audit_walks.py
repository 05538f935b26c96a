"""Whole audits: planted truths, a real target, several rows of one person."""

import numpy as np
import pandas as pd
import pytest

from whyconv import ConvRegressor
from whyconv.auditing import planted_run
from whyconv.auditing.answer import Answer
from whyconv.auditing.arms import CNN, FCN, GLOBAL_MAX, LCN
from whyconv.auditing.dataset import from_arrays
from whyconv.auditing.design import designed
from whyconv.auditing.keeping import keep
from whyconv.auditing.planted import planted
from whyconv.auditing.result import PRIORS
from whyconv.auditing.results import result
from whyconv.paths import run_folder, use_run_folder
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Options

TINY = {
    "orders": 3, "order_steps": 5, "seeds": 3, "extensions": 0, "rates": (0.01,), "channels": 4,
    "windows": (3,), "arms": (FCN, CNN), "growths": 0,
}  # fmt: skip


@pytest.fixture
def audited(tmp_path):
    """The answer of a tiny audit of three rounds, whatever time it takes."""
    before = run_folder()

    def audit(dataset, **changes):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        study = designed(dataset).model_copy(update={**TINY, **changes})
        keep(dataset, folder, study.task.data)
        use_run_folder(folder)
        done = complete(study, folder, Options(workers=1, preset="quick"))
        assert all(row.status == "ok" for row in done.rows.values())
        return Answer(result(study, done.points, done.rows, out=str(folder)), study)

    yield audit
    use_run_folder(before)


@pytest.mark.long
def test_a_real_target_from_the_frame_to_the_winner(audited):
    chance = np.random.default_rng(5)
    x = chance.standard_normal((160, 8))
    frame = pd.DataFrame(x, columns=list("abcdefgh")).assign(price=1000 * (3 * x[:, 2] + x[:, 5]) + 7e4)
    answer = audited(from_arrays(frame, "price", metric="mse"), sizes=(60, 120), steps=400, order_size=60)
    told, spread = answer.to_json(), float(frame["price"].var())
    assert (told["data"]["classes"], told["data"]["metric"], told["rounds"]) == (None, "mse", 3)
    errors = {each["name"]: each["error"] for each in (*told["arms"], *told["references"])}
    assert set(errors) == {FCN, CNN, "mean", "ridge", "forest"}
    assert errors["mean"] == pytest.approx(spread, rel=0.2), "in the unit of the target"
    assert errors["ridge"] < 0.01 * spread, "the target is linear"
    assert errors[told["best"]] < 0.5 * spread
    assert any("does not beat the mean" in each["says"] for each in told["controls"])
    best, features = answer.best, frame.drop(columns="price")
    assert isinstance(best, ConvRegressor)
    assert best.fit(features, frame["price"]).score(features, frame["price"]) > 0.5


@pytest.mark.long
def test_persons_on_both_sides_look_learned_and_as_groups_are_not(audited):
    """The labels of persons are tossed, and rows of a person are alike: there is nothing to learn."""
    chance = np.random.default_rng(3)
    who = np.repeat(np.arange(50), 6)
    x = chance.standard_normal((50, 12))[who] + 0.2 * chance.standard_normal((len(who), 12))
    y = chance.permutation(np.arange(50) % 2)[who]
    sizes = {"sizes": (100, 200), "steps": 300, "order_size": 60}
    blind, told = audited(from_arrays(x, y), **sizes), audited(from_arrays(x, y, groups=who), **sizes)
    errors = {each.name: each.error for each in (*blind.result.arms, *blind.result.references)}
    assert errors["forest"] < 0.1 and errors[FCN] < 0.2
    assert any("say so with --groups" in text for text in blind.warnings)
    errors = {each.name: each.error for each in (*told.result.arms, *told.result.references)}
    assert min(errors.values()) > 0.3
    unjudged = "nothing was judged: no arm beats the majority for certain"
    assert unjudged in told.warnings and unjudged not in blind.warnings


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "verdict", "priors"),
    [("shift", "saves", ("pooling", "together")), ("noise", "not judged", PRIORS)],
)
def test_a_planted_truth_is_found(audited, kind, verdict, priors):
    """A pattern anywhere, and nothing at all; what so few examples do not decide is not answered wrongly."""
    answer = audited(
        planted(kind, 600, 30, 5, 7), arms=(FCN, LCN, CNN, GLOBAL_MAX), sizes=(56, 112, 225, 450), seeds=5,
        orders=0, steps=300, channels=8, windows=(5,), reference_rounds=0,
    )  # fmt: skip
    assert "wrong" not in planted_run.grades(kind, answer.result).values()
    assert {each.verdict for each in answer.savings if each.prior in priors} == {verdict}
