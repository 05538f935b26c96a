"""What fitted estimators predict, against other routes; how they fit into scikit-learn."""

import io
import subprocess
import sys
from contextlib import redirect_stderr

import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from training import fit_of, job_of

from whyconv import ConvClassifier, ConvRegressor, load_estimator
from whyconv.auditing.architecture import BadSetting
from whyconv.auditing.dataset import BadData, from_arrays
from whyconv.auditing.fitting import _maker
from whyconv.learners import _training
from whyconv.spec import build
from whyconv.trial import Trial

PATTERNS = 2.4 * np.array([[1, -1, 1, -1, 1], [1, 1, 1, -1, -1]])


def shifted(count, seed, length=40):
    """Series with one of two patterns anywhere."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(count, length)), rng.integers(0, 2, count)
    for row, label, at in zip(x, y, rng.integers(0, length - 4, count), strict=True):
        row[at : at + 5] += PATTERNS[label]
    return x, y


def small(classes=2, count=40, seed=0):
    """A few series of 6 numbers: one shape, so that few programs are compiled."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 6))
    return x, np.argsort(np.argsort(x[:, 0] - x[:, 1])) * classes // count


QUICK = {"kernel": 3, "channels": 4, "steps": 30}


def windows_of(h, kernel, stride, padding):
    """(example, row, column, window) by loops over positions."""
    kernel = np.minimum(kernel, h.shape[1:3])
    counts, pads = [], [(0, 0)]
    for size, side, step in zip(h.shape[1:3], kernel, stride, strict=True):
        count = (size - side) // step + 1 if padding == "valid" else -(-size // step)
        lacking = max((count - 1) * step + side - size, 0)
        counts.append(count)
        pads.append((lacking // 2, lacking - lacking // 2))
    h = np.pad(h, [*pads, (0, 0)])
    return np.array([
        [
            h[:, i * stride[0] : i * stride[0] + kernel[0], j * stride[1] : j * stride[1] + kernel[1]]
            for j in range(counts[1])
        ]
        for i in range(counts[0])
    ])  # fmt: skip


def forward(estimator, x):
    """The scores, in plain NumPy, from the documented parameters and the estimator's own settings."""
    p, h = estimator.parameters_, (x.reshape(-1, *estimator.shape_) - estimator.mean_) / estimator.scale_
    if estimator.kernel is None:
        h = h.reshape(len(h), -1)
        for w, b in zip(p["w"], p["b"], strict=True):
            h = np.maximum(h @ w.T + b, 0)
        return h @ p["u"].T + p["c"]
    pair = lambda sizes: sizes if isinstance(sizes, tuple) else (sizes, sizes)  # noqa: E731
    local, _, read = estimator.pooling.rpartition("global ")
    local = (estimator.pooling if not _ else local).split(" ")[0]
    for w, b in zip(p["w"], p["b"], strict=True):
        cut = windows_of(h, pair(estimator.kernel), pair(estimator.stride), estimator.padding)
        rows, columns = cut.shape[:2]
        block = {"all": 10**6, "none": 1}.get(estimator.sharing, estimator.sharing)
        across = -(-columns // block)
        h = np.empty((cut.shape[2], rows, columns, w.shape[1]))
        for i in range(rows):
            for j in range(columns):
                group = i // block * across + j // block
                h[:, i, j] = np.maximum(cut[i, j].reshape(len(h), -1) @ w[group].T + b[group], 0)
        if local in ("max", "average"):
            size, reduce = estimator.pool, {"max": np.max, "average": np.mean}[local]
            h = np.stack([
                np.stack([
                    reduce(h[:, i : i + size, j : j + size], axis=(1, 2)) for j in range(0, columns, size)
                ], axis=1)
                for i in range(0, rows, size)
            ], axis=1)  # fmt: skip
    h = h.reshape(len(h), -1, h.shape[-1])
    if _:
        h = {"max": np.max, "average": np.mean}[read](h, axis=1, keepdims=True)
    return np.einsum("epc,poc->eo", h, p["u"]) + p["c"]


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": 3, "channels": (3, 4), "pooling": "max"},
        {"kernel": (2, 3), "sharing": "none", "pooling": "average + global max"},
        {"kernel": 2, "sharing": 2, "pooling": "global average", "stride": (1, 2), "padding": "same"},
        {"kernel": None, "channels": (7, 5)},
    ],
    ids=["cnn", "lcn", "partly-shared", "fcn"],
)
def test_predictions_are_a_plain_forward_pass(settings):
    rng = np.random.default_rng(1)
    x, y = rng.normal(2, 3, size=(24, 6, 7, 2)), rng.integers(0, 3, 24)
    fitted = ConvClassifier(**{"channels": 3, "steps": 20, **settings}).fit(x, y)
    scores = forward(fitted, x)
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(x), expected, rtol=1e-9)
    np.testing.assert_array_equal(fitted.predict(x), fitted.classes_[expected.argmax(axis=1)])


def test_regression_is_a_plain_forward_pass_in_the_targets_unit():
    x, _ = small()
    y = 1000 + 50 * x[:, 2]
    fitted = ConvRegressor(**QUICK | {"steps": 400}).fit(x, y)
    expected = forward(fitted, x)[:, 0] * y.std() + y.mean()
    np.testing.assert_allclose(fitted.predict(x), expected, rtol=1e-9)
    assert fitted.score(x, y) > 0.95


def test_training_is_that_of_a_trial_on_the_same_sample():
    trial = Trial(
        task={"name": "image-classes", "images": "digits"},
        network={"name": "deep-cnn", "channels": [4], "pool": 2, "outputs": 10},
        learner={"name": "gradient", "rate": 0.01, "epochs": 4, "loss": "cross-entropy"},
        m=70,
        seed=5,
        test_size=100,
    )
    job = job_of(trial)
    plain = fit_of(trial, job)
    x, y = np.asarray(job.sample.x)[:70], np.asarray(job.sample.y)[:70]
    same = {"kernel": 3, "channels": 4, "layers": 1, "pooling": "max", "rate": 0.01, "epochs": 4}
    fitted = ConvClassifier(**same, batch=32, scale="none", precision="float32", random_state=5).fit(x, y)
    assert fitted.learner_ == trial.learner.canonical() and fitted.network_ == trial.network.canonical()
    assert fitted.n_iter_ == plain.facts["steps"] == 12
    for mine, other in zip(jax.tree.leaves(fitted.parameters_), jax.tree.leaves(plain.params), strict=True):
        assert mine.dtype == np.float32
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-6)


def test_a_pattern_anywhere_is_learned_from_few_examples_by_sharing_and_pooling_only():
    x, y = shifted(150, seed=11)
    test = shifted(1000, seed=12)
    pooled = ConvClassifier(kernel=5, pooling="global max", batch=32).fit(x, y)
    connected = ConvClassifier(kernel=None, batch=32).fit(x, y)
    assert connected.score(x, y) > 0.98
    assert pooled.score(*test) > 0.95
    assert connected.score(*test) < 0.8


def test_weights_are_multiplicities():
    x, y = small(classes=3)
    weights = np.arange(len(x)) % 4
    weighted = ConvClassifier(**QUICK).fit(x, y, sample_weight=weights)
    repeated = ConvClassifier(**QUICK).fit(np.repeat(x, weights, axis=0), np.repeat(y, weights))
    plain = ConvClassifier(**QUICK).fit(x, y)
    np.testing.assert_allclose(weighted.predict_proba(x), repeated.predict_proba(x), rtol=1e-9)
    assert np.abs(weighted.predict_proba(x) - plain.predict_proba(x)).max() > 1e-3


def test_weights_count_in_batches_too():
    """Two contradicting labels for each input: the heavier one wins."""
    x, y = small()
    doubled, labels = np.concatenate([x, x]), np.concatenate([y, 1 - y])
    weights = np.repeat([3.0, 0.5], len(x))
    fitted = ConvClassifier(**QUICK | {"steps": 300}, batch=16).fit(doubled, labels, sample_weight=weights)
    assert fitted.score(x, y) > 0.9
    assert fitted.score(x, 1 - y) < 0.1


def test_labels_come_back_as_they_were_given():
    x, y = small(classes=3)
    names = np.array(["high", "low", "middle"])
    fitted = ConvClassifier(**QUICK).fit(x, names[y])
    np.testing.assert_array_equal(fitted.classes_, names)
    np.testing.assert_array_equal(fitted.predict(x), names[fitted.predict_proba(x).argmax(axis=1)])
    np.testing.assert_array_equal(fitted.predict_proba(x), ConvClassifier(**QUICK).fit(x, y).predict_proba(x))


def test_frames_keep_their_names_and_float32_is_taken():
    x, y = small(classes=3)
    frame = pd.DataFrame(x, columns=list("abcdef"))
    fitted = ConvClassifier(**QUICK).fit(frame, pd.Series(y))
    assert list(fitted.feature_names_in_) == list("abcdef")
    np.testing.assert_array_equal(fitted.predict(frame), ConvClassifier(**QUICK).fit(x, y).predict(x))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[list("bacdef")])
    single = ConvClassifier(**QUICK).fit(x.astype(np.float32), y)
    np.testing.assert_allclose(single.predict_proba(x), fitted.predict_proba(frame), atol=1e-5)


def test_a_search_over_rates_compiles_nothing_anew_and_finds_the_better_one():
    x, y = small(count=60)
    first = ConvClassifier(**QUICK).fit(x[:40], y[:40])
    first.predict(x)
    learner = build("learner", first.learner_).compiled()
    programs = _training.programs(build("network", first.network_), learner, _maker())
    before = _training.programs.cache_info().misses, programs.segment._cache_size()
    search = GridSearchCV(ConvClassifier(**QUICK), {"rate": [1e-6, 1e-2]}, cv=3).fit(x, y)
    assert search.best_params_ == {"rate": 1e-2}
    assert (_training.programs.cache_info().misses, programs.segment._cache_size()) == before


def test_pipelines_clones_and_cross_validation():
    x, y = small(count=60)
    line = make_pipeline(StandardScaler(), ConvClassifier(**QUICK))
    scores = cross_val_score(line, x, y, cv=3)
    assert scores.shape == (3,) and scores.mean() > 0.6
    copy = clone(line[-1])
    assert copy.get_params() == line[-1].get_params() and not hasattr(copy, "classes_")


@pytest.mark.long
def test_other_processes_train_as_well():
    x, y = small(count=60)
    here = GridSearchCV(ConvClassifier(**QUICK), {"rate": [1e-2]}, cv=2).fit(x, y)
    there = GridSearchCV(ConvClassifier(**QUICK), {"rate": [1e-2]}, cv=2, n_jobs=2).fit(x, y)
    np.testing.assert_allclose(
        there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], atol=0.05
    )


def test_the_seed_decides():
    x, y = small()
    one, again, other = (ConvClassifier(**QUICK, random_state=seed).fit(x, y) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.parameters_["u"], again.parameters_["u"])
    assert np.abs(one.parameters_["u"] - other.parameters_["u"]).max() > 0.01
    drawn = ConvClassifier(**QUICK, random_state=np.random.RandomState(3)).fit(x, y)
    assert drawn.seed_ == np.random.RandomState(3).randint(2**31 - 1)


def test_progress_is_told_with_loss_and_time_left():
    x, y = small()
    seen, out = [], io.StringIO()
    with redirect_stderr(out):
        fitted = ConvClassifier(**QUICK, verbose=1).fit(x, y, callback=seen.append)
    assert [each.step for each in seen] == sorted({each.step for each in seen})
    assert seen[-1].step == seen[-1].steps == fitted.n_iter_ == 30 and seen[-1].left == 0
    assert seen[-1].loss == pytest.approx(fitted.loss_, rel=0.2)
    assert out.getvalue().splitlines()[-1].startswith("ConvClassifier: step 30 of 30, loss 0.")
    assert [epoch for epoch, _ in fitted.history_] == [1, 2, 4, 8, 16]
    assert fitted.history_[0][1] > fitted.history_[-1][1] > fitted.loss_ > 0


def test_training_stops_once_the_loss_is_small():
    x, y = small()
    fitted = ConvClassifier(**QUICK | {"steps": 2000}, rate=0.02, tolerance=0.05).fit(x, y)
    assert fitted.stopped_ == "loss" and fitted.loss_ <= 0.05 and fitted.n_iter_ < 2000
    assert ConvClassifier(**QUICK, tolerance=0.05).fit(x, y).stopped_ == "cap"


def test_grids_may_be_given_flat_or_as_they_are():
    x, y = small(classes=3)
    flat = ConvClassifier(**QUICK, grid="1x6x1").fit(x, y)
    same = ConvClassifier(**QUICK).fit(x[:, None, :, None], y)
    np.testing.assert_array_equal(flat.predict_proba(x), same.predict_proba(x[:, :, None]))
    assert flat.n_features_in_ == same.n_features_in_ == 6 and same.shape_ == (1, 6, 1)
    with pytest.raises(BadData, match="2x3 were given to an estimator that was fitted on 1x6x1"):
        flat.predict(x.reshape(-1, 2, 3))


def test_channels_may_come_first():
    chance = np.random.default_rng(0)
    x, y = chance.standard_normal((40, 3, 4, 2)), np.arange(40) % 2
    first, grid = np.moveaxis(x, -1, 1), {"grid": (3, 4, 2)}
    last = ConvClassifier(**QUICK, **grid).fit(x, y).predict_proba(x)
    turned = ConvClassifier(**QUICK, **grid, channels_first=True).fit(first, y)
    np.testing.assert_array_equal(turned.predict_proba(first), last)
    flat = ConvClassifier(**QUICK, **grid, channels_first=True).fit(first.reshape(40, -1), y)
    np.testing.assert_array_equal(flat.predict_proba(first.reshape(40, -1)), last)
    series = ConvClassifier(**QUICK, grid="series", channels_first=True).fit(first[:, :, 0], y)
    assert series.shape_ == (1, 4, 2)


class OnlyArray:
    """Data of a library that NumPy can read."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


def test_anything_with_array_is_read_on_its_grid():
    x, y = np.random.default_rng(0).standard_normal((40, 6, 2)), np.arange(40) % 2
    assert ConvClassifier(**QUICK).fit(OnlyArray(x), y).shape_ == (1, 6, 2)


def colours(count=40):
    """A frame whose label is whether the colour is red."""
    chance = np.random.default_rng(0)
    words = np.array(["red", "green", "blue"])[np.arange(count) % 3]
    frame = pd.DataFrame({"size": chance.standard_normal(count), "colour": pd.Categorical(words)})
    return frame.assign(old=chance.integers(0, 2, count).astype(bool)), words == "red"


def test_categories_of_a_frame_are_channels_as_in_an_audit():
    frame, y = colours()
    fitted = ConvClassifier(kernel=None, steps=200, rate=0.02).fit(frame, y)
    assert fitted.shape_ == (1, 3, 3) and fitted.score(frame, y) == 1
    x = from_arrays(frame, y).x
    same = ConvClassifier(kernel=None, steps=200, rate=0.02).fit(x, y)
    np.testing.assert_array_equal(fitted.predict_proba(frame), same.predict_proba(x))
    some = frame.iloc[:5].assign(colour=pd.Categorical(frame["colour"].iloc[:5].astype(str)))
    np.testing.assert_array_equal(fitted.predict(some.iloc[[2, 0]]), fitted.predict(frame)[[2, 0]])
    assert "categories_" not in vars(fitted.fit(x, y))


def test_categories_that_were_not_there_are_refused_in_a_sentence(tmp_path):
    frame, y = colours()
    fitted = ConvClassifier(**QUICK).fit(frame, y)
    fitted.save(tmp_path / "m.npz")
    for each in (fitted, load_estimator(tmp_path / "m.npz")):
        with pytest.raises(BadData, match=r"holds 'pink', which it did not .* blue, green, red"):
            each.predict(frame.assign(colour=pd.Categorical(["pink"] * len(frame))))
        with pytest.raises(BadData, match="the same order: size, colour, old"):
            each.predict(frame[["colour", "size", "old"]])
        with pytest.raises(BadData, match="give a frame"):
            each.predict(np.zeros((2, 9)))
        np.testing.assert_array_equal(each.predict_proba(frame), fitted.predict_proba(frame))


def test_columns_of_one_name_are_refused_in_a_sentence():
    frame, y = colours()
    twice = pd.concat([frame, frame["colour"]], axis=1)
    with pytest.raises(BadData, match="2 columns are named 'colour'; give each its own name"):
        ConvClassifier(**QUICK).fit(twice, y)
    fitted = ConvClassifier(**QUICK).fit(frame, y)
    with pytest.raises(BadData, match="2 columns are named 'colour'"):
        fitted.predict(twice)


def test_series_of_unequal_lengths_are_refused_in_a_sentence():
    series = [np.zeros(4 + number % 2) for number in range(40)]
    for given in (series, np.array(series, object), [list(each) for each in series]):
        with pytest.raises(BadData, match="different lengths; pad or cut"):
            ConvClassifier(**QUICK).fit(given, np.arange(40) % 2)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"channels_first": "yes"}, "give True or False"),
        ({"grid": "28x28x1"}, "do not lie on it"),
        ({"grid": "square"}, 'give "auto", "series", "table"'),
        ({"pooling": "min"}, "choose one of none, max, average, global max"),
        ({"kernel": 0}, "at least 1 pixel"),
        ({"kernel": None, "pooling": "max"}, "no windows to share or pool"),
        ({"sharing": "some"}, "the side of a block"),
        ({"channels": (4, 4), "layers": 3}, "one for every layer"),
        ({"channels": 2.5}, "a number from 1"),
        ({"rate": -1.0}, "rate = -1.0 was given"),
        ({"steps": 0}, "a whole number from 1"),
        ({"batch": "all"}, "auto, None"),
        ({"optimiser": "newton"}, "there is no Optax optimiser"),
        ({"scale": "log"}, "choose one of auto, feature"),
        ({"precision": "half"}, "choose one of auto, float32"),
    ],
)
def test_a_bad_parameter_gets_one_sentence(settings, sentence):
    x, y = small()
    with pytest.raises((BadSetting, BadData), match=sentence) as raised:
        ConvClassifier(**QUICK | settings).fit(x, y)
    assert str(raised.value).endswith(".") and "\n" not in str(raised.value)


def test_training_that_diverges_says_so():
    x, y = small()
    with pytest.raises(BadSetting, match=r"diverged with rate = 100000\.0; take a smaller one"):
        ConvRegressor(**QUICK | {"steps": 200}, rate=1e5, optimiser="sgd").fit(x, y)


def test_importing_whyconv_imports_no_heavy_package():
    code = (
        "import sys, whyconv; print({'jax', 'numpy', 'sklearn'} & set(sys.modules)); "
        "print('ConvClassifier' in dir(whyconv), whyconv.ConvClassifier.__name__)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["set()", "True ConvClassifier"]
    with pytest.raises(AttributeError, match="has no attribute 'ConvTransformer'"):
        import whyconv

        whyconv.ConvTransformer  # noqa: B018
