"""A user's own examples: splits by class and group, nested samples, scaling, permutations, metrics."""

import jax
import numpy as np
import pytest

from whyconv.auditing.dataset import Dataset
from whyconv.auditing.design import designed
from whyconv.auditing.keeping import keep
from whyconv.errors import UserError
from whyconv.execution import draw
from whyconv.paths import run_folder, use_run_folder
from whyconv.streams import stream
from whyconv.tasks._splits import split


@pytest.fixture
def task_of(tmp_path):
    before = run_folder()

    def made(x, y, classes=("a", "b"), grid="series", groups=None, **fields):
        dataset = Dataset("d", x.astype(np.float32), y, classes, grid, groups)
        task = designed(dataset).task
        keep(dataset, tmp_path, task.data)
        use_run_folder(tmp_path)
        return task.model_copy(update=fields)

    yield made
    use_run_folder(before)


def numbered(count=60, length=7, channels=2, seed=0):
    """Inputs whose first entry tells the example's number."""
    x = np.random.default_rng(seed).standard_normal((count, 1, length, channels))
    return x, np.arange(count) % 2


def keys(task, seed=3):
    return stream("world", task.lineage(), seed), stream("train", task.lineage(), seed)


def sample(task, count, part="train", seed=3):
    found = draw(task, *keys(task, seed), count, part)
    return np.asarray(found.x), np.asarray(found.y)


def raw(task, x, part, seed=3):
    """The numbers of the examples of a part, found by their inputs."""
    count = task.most(task.inner) if part == "train" else task.tested(task.inner)
    held = np.load(run_folder() / "data" / f"{task.data}.npz")["x"]
    order = task.shuffle(task.stock(part), keys(task, seed)[0], keys(task, seed)[1], 0)
    scaled = (held - order.mean) / order.spread
    flat = scaled.reshape(len(held), -1, held.shape[3])[:, order.places].reshape(held.shape)
    return [int(np.argmin(((flat - each) ** 2).sum(axis=(1, 2, 3)))) for each in x[:count]]


def test_samples_are_nested_disjoint_from_tests_and_stratified(task_of):
    x, y = numbered()
    y = (np.arange(60) < 15).astype(int)
    task = task_of(x, y)
    large, labels = sample(task, 45)
    small, _ = sample(task, 12)
    assert (large[:12] == small).all()
    train, test = raw(task, large, "train"), raw(task, sample(task, 15, "test")[0], "test")
    assert sorted(train + test) == list(range(60)), "every example once"
    assert (labels == 2 * y[train] - 1).all()
    for m in (8, 12, 20, 45):
        assert abs(y[train[:m]].sum() - m / 4) <= 1.5
    assert abs(y[test].sum() - 15 / 4) <= 1


def test_every_seed_has_a_split_of_its_own_and_controls_share_it(task_of):
    x, y = numbered()
    task = task_of(x, y)
    first = raw(task, sample(task, 45)[0], "train")
    assert first != raw(task, sample(task, 45, seed=4)[0], "train", seed=4)
    for control in ({"permuted": 5}, {"shuffled_labels": True}):
        twin = task.model_copy(update=control)
        assert raw(twin, sample(twin, 45)[0], "train") == first
        assert twin.shared() == task.shared(), "one compiled program"


def test_inner_splits_never_see_the_outer_test_part(task_of):
    x, y = numbered()
    task = task_of(x, y)
    outer = set(raw(task, sample(task, task.test, "test")[0], "test"))
    inner = task.model_copy(update={"inner": True})
    train = raw(inner, sample(inner, inner.most(True))[0], "train")
    test = raw(inner, sample(inner, inner.tested(True), "test")[0], "test")
    assert not outer & {*train, *test} and not set(train) & set(test)
    assert len(set(train)) == inner.most(True) and len(set(test)) == inner.tested(True)


def test_a_permutation_moves_places_with_all_their_channels(task_of):
    x, y = numbered()
    task = task_of(x, y)
    plain, moved = sample(task, 10)[0], sample(task.model_copy(update={"permuted": 9}), 10)[0]
    places = task.model_copy(update={"permuted": 9})._places()
    assert sorted(places) == list(range(7)) and (places != np.arange(7)).any()
    assert (moved == plain[:, :, places]).all()
    assert (task.model_copy(update={"permuted": 10})._places() != places).any()


def test_shuffled_labels_change_training_labels_alone(task_of):
    x, y = numbered()
    task = task_of(x, y, shuffled_labels=True)
    plain = task.model_copy(update={"shuffled_labels": False})
    assert (sample(task, 45)[1] != sample(plain, 45)[1]).any()
    assert sorted(sample(task, 45)[1]) == sorted(sample(plain, 45)[1])
    test = task.tests()[""]
    assert (sample(test, 15, "test")[1] == sample(plain, 15, "test")[1]).all()


def test_scaling_uses_the_training_part_alone(task_of):
    x, y = numbered()
    x[:, :, :, 1] = 50 + 3 * x[:, :, :, 1]
    task = task_of(x, y)
    assert task.scaling == "channel"
    train = sample(task, 45)[0]
    assert np.abs(train.mean(axis=(0, 1, 2))).max() < 1e-5
    assert np.abs(train.std(axis=(0, 1, 2)) - 1).max() < 1e-5
    assert np.abs(sample(task, 15, "test")[0].mean(axis=(0, 1, 2))).max() > 1e-3
    x[:, :, 4] *= 1000
    task = task_of(x, y)
    assert task.scaling == "feature" and np.abs(sample(task, 45)[0].std(axis=0) - 1).max() < 1e-4


def test_groups_stay_on_one_side_and_together():
    chance = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), chance.integers(1, 7, size=30))
    y = (groups % 3 == 0).astype(int)
    for seed in range(20):
        found = split(y, groups, len(y), len(y) // 4, np.random.default_rng(seed))
        assert sorted([*found.train, *found.test]) == list(range(len(y)))
        assert not set(groups[found.train]) & set(groups[found.test])
        assert len(y) // 4 <= len(found.test) < len(y) // 4 + 6
        changes = np.count_nonzero(np.diff(groups[found.train]))
        assert changes == len(set(groups[found.train])) - 1, "rows of a group side by side"
        kin = np.unique(groups[found.test])
        assert abs((kin % 3 == 0).sum() - len(kin) / 3) <= 1.5, "classes of groups keep their shares"


def test_metrics_by_another_route(task_of):
    from sklearn import metrics

    x, _ = numbered()
    chance = np.random.default_rng(2)
    y = chance.choice(3, size=60, p=[0.6, 0.3, 0.1])
    task = task_of(x, y, classes=("a", "b", "c"))
    scores = chance.standard_normal((60, 3))
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = task.measures(scores, y)
    assert found["error"] == pytest.approx(1 - metrics.accuracy_score(y, scores.argmax(axis=1)))
    assert found["logloss"] == pytest.approx(metrics.log_loss(y, chances))
    fair = (chances / (np.bincount(y) / 60)).argmax(axis=1)
    assert found["balanced"] == pytest.approx(1 - metrics.balanced_accuracy_score(y, fair))
    two = task_of(x, (y > 0).astype(int))
    single, signs = scores[:, 0], np.where(y > 0, 1.0, -1.0)
    found = two.measures(single, signs)
    assert found["logloss"] == pytest.approx(metrics.log_loss(y > 0, 1 / (1 + np.exp(-single))))
    real = task_of(x, 5 + 3 * chance.standard_normal(60), classes=())
    target = sample(real, 45)[1]
    assert real.measures(np.zeros(45), target)["mse"] == pytest.approx(real.unit**2 * (target**2).mean())


def test_identity_does_not_depend_on_the_folder(task_of, tmp_path):
    x, y = numbered()
    task = task_of(x, y)
    assert str(tmp_path) not in str(task.canonical()) and len(task.data) == 32
    use_run_folder(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="give the data again"):
        task.fetch()


def test_more_examples_than_there_are_is_refused(task_of):
    x, y = numbered()
    task = task_of(x, y)
    assert task.refusal(45, 0, 15) == ""
    assert "45 examples for training" in task.refusal(46, 0, 15) and task.refusal(45, 0, 16)
    assert jax.numpy.shape(sample(task, 45)[0]) == (45, 1, 7, 2)
