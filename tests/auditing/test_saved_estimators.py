"""Estimators on disk: what comes back, and what a damaged, foreign or hostile file gets."""

import io
import json
import pickle
import zipfile

import jax
import numpy as np
import pandas as pd
import pytest

from whyconv import ConvClassifier, ConvRegressor, load_estimator
from whyconv.auditing import saving
from whyconv.auditing.dataset import BadData
from whyconv.spec import to_json

X = np.random.default_rng(0).normal(size=(30, 5))
LABELS = np.array(["no", "yes"], object)[(X[:, 0] > X[:, 1]).astype(int)]
QUICK = {"kernel": 3, "channels": 4, "steps": 20}


@pytest.fixture(scope="module")
def fitted():
    frame = pd.DataFrame(X, columns=list("abcde"))
    return ConvClassifier(**QUICK, grid=(1, 5, 1), random_state=np.random.RandomState(1)).fit(frame, LABELS)


@pytest.fixture
def file(fitted, tmp_path):
    fitted.save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


def contents(file):
    with np.load(file, allow_pickle=False) as held:
        arrays = {name: held[name] for name in held.files}
    return json.loads(arrays.pop("about").tobytes()), arrays


def forge(file, about, arrays):
    """The file of someone who knows the format and its digest."""
    content = io.BytesIO()
    np.savez(content, about=np.frombuffer(to_json(about).encode(), np.uint8), **arrays)
    file.write_bytes(saving.sealed(content.getvalue()))


def test_everything_fitted_comes_back(fitted, file):
    back = load_estimator(file)
    frame = pd.DataFrame(X, columns=list("abcde"))
    np.testing.assert_array_equal(back.predict_proba(frame), fitted.predict_proba(frame))
    np.testing.assert_array_equal(back.predict(frame), fitted.predict(frame))
    assert back.classes_.dtype == object and list(back.classes_) == ["no", "yes"]
    for name, value in vars(fitted).items():
        if name == "random_state":
            assert back.random_state == fitted.seed_
        elif name == "parameters_":
            assert jax.tree.structure(value) == jax.tree.structure(back.parameters_)
            jax.tree.map(np.testing.assert_array_equal, value, back.parameters_)
        else:
            assert str(vars(back)[name]) == str(value), name
    assert back.get_params().keys() == fitted.get_params().keys()


def test_a_regressor_comes_back_and_goes_on(tmp_path):
    regressor = ConvRegressor(**QUICK).fit(X, 3 + X[:, 2])
    regressor.save(tmp_path / "model")
    back = load_estimator(str(tmp_path / "model"))
    np.testing.assert_array_equal(back.predict(X), regressor.predict(X))
    np.testing.assert_array_equal(back.fit(X, 3 + X[:, 2]).predict(X), regressor.predict(X))


def test_the_file_is_numbers_and_text(file):
    about, arrays = contents(file)
    assert about["version"] == saving.VERSION and about["class"] == "ConvClassifier"
    assert {array.dtype.kind for array in arrays.values()} == {"f", "U"}


def test_saving_replaces_a_file_whole_and_follows_no_link(fitted, file, tmp_path):
    before = file.read_bytes()
    fitted.save(file)
    assert file.read_bytes()[:4] == before[:4] and [each.name for each in tmp_path.iterdir()] == ["model.npz"]
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(BadData, match="is a link"):
        fitted.save(tmp_path / "link")
    with pytest.raises(BadData, match="cannot be written"):
        fitted.save(tmp_path / "nowhere" / "model.npz")


def refused(file, why):
    with pytest.raises(BadData, match=why) as raised:
        load_estimator(file)
    assert str(raised.value).endswith(".") and "\n" not in str(raised.value)


def test_a_changed_byte_is_noticed_wherever_it_is(file):
    whole = file.read_bytes()
    for place in range(0, len(whole), 5):
        content = bytearray(whole)
        content[place] ^= 1
        file.write_bytes(content)
        refused(file, "is not an estimator that whyconv saved")


def test_cut_foreign_and_missing_files(file, tmp_path):
    file.write_bytes(file.read_bytes()[:-100])
    refused(file, "it cannot be read")
    refused(tmp_path / "none.npz", "there is no such file")
    (tmp_path / "text").write_text("hello")
    refused(tmp_path / "text", "it cannot be read")
    np.savez(tmp_path / "other.npz", x=X)
    refused(tmp_path / "other.npz", "it holds no description")
    with zipfile.ZipFile(tmp_path / "packed.npz", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("about.npy", b"0" * 10_000_000)
    refused(tmp_path / "packed.npz", "it is compressed")


def test_a_pickle_is_never_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    np.savez(tmp_path / "trap.npz", about=np.array([Trap()], object), allow_pickle=True)
    (tmp_path / "plain.pkl").write_bytes(pickle.dumps(Trap()))
    for name in ("trap.npz", "plain.pkl"):
        refused(tmp_path / name, "it cannot be read")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda about, arrays: about.update(version=1), "it has the version 1"),
        (lambda about, arrays: about.update({"class": "Popen"}), "it names the class 'Popen'"),
        (lambda about, arrays: about["settings"].update(shell=True), "it cannot be read"),
        (lambda about, arrays: about.update(network={"name": "mlp"}), "it cannot be read"),
        (lambda about, arrays: about["network"].update(outputs=7), "do not fit together"),
        (lambda about, arrays: about["network"].update(channels=[10**9]), "do not fit its network"),
        (lambda about, arrays: about.update(shape=[1, 6, 1]), "do not fit its network"),
        (lambda about, arrays: about.update(features=["a"]), "names of features"),
        (lambda about, arrays: about.update(categories=[["a", ["x"]], ["b", None]]), "its categories"),
        (lambda about, arrays: arrays.update(u=arrays["u"] * np.nan), "not all finite"),
        (lambda about, arrays: arrays.update(u=arrays["u"].astype(np.float32)), "several types"),
        (lambda about, arrays: arrays.update(classes=np.array(["no", "no"])), "its classes"),
        (lambda about, arrays: arrays.pop("mean"), "it cannot be read"),
    ],
)
def test_a_forged_file_is_checked_as_a_strangers(file, change, why):
    about, arrays = contents(file)
    change(about, arrays)
    forge(file, about, arrays)
    refused(file, why)


def test_only_numbers_and_texts_are_classes(tmp_path):
    odd = np.array([None if each == "no" else True for each in LABELS], object)
    model = ConvClassifier(**QUICK).fit(X, LABELS)
    model.classes_ = odd[:2]
    with pytest.raises(BadData, match="neither numbers nor texts"):
        model.save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())
