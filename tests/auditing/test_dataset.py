"""Arrays and frames in one shape, and what looks odd about them."""

import numpy as np
import pandas as pd
import pytest

from whyconv.auditing.dataset import BadData, from_arrays

RNG = np.random.default_rng(1)
N = 120
X = RNG.standard_normal((N, 24))
Y = np.arange(N) % 3


def test_columns_of_one_name_are_refused_in_a_sentence():
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "a"])
    with pytest.raises(BadData, match="2 columns are named 'a'; give each its own name"):
        from_arrays(frame, Y)
    with pytest.raises(BadData, match="2 columns are named '1'"):
        from_arrays(pd.DataFrame(X[:, :2], columns=[1, "1"]), Y)


class Wrapped:
    """Anything with ``__array__``."""

    def __init__(self, values):
        self._values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._values, dtype)


@pytest.mark.parametrize(
    ("given", "options", "shape", "grid"),
    [
        (X, {}, (1, 24, 1), "series"),
        (X, {"grid": "table"}, (1, 24, 1), "table"),
        (X, {"grid": "4x6x1"}, (4, 6, 1), "image"),
        (X, {"grid": "4x6"}, (4, 6, 1), "image"),
        (X, {"grid": (4, 3, 2)}, (4, 3, 2), "image"),
        (X, {"grid": "1x8x3"}, (1, 8, 3), "series"),
        (X, {"grid": "8x1x3"}, (1, 8, 3), "series"),
        (X.reshape(N, 12, 2), {}, (1, 12, 2), "series"),
        (X.reshape(N, 8, 3), {"grid": "table"}, (1, 8, 3), "table"),
        (X.reshape(N, 3, 8), {"channels": "first"}, (1, 8, 3), "series"),
        (X.reshape(N, 3, 8), {"channels": "last"}, (1, 3, 8), "series"),
        (X.reshape(N, 4, 6), {"grid": "4x6x1"}, (4, 6, 1), "image"),
        (X.reshape(N, 4, 3, 2), {"channels": "last"}, (4, 3, 2), "image"),
        (X.reshape(N, 4, 6, 1), {}, (4, 6, 1), "image"),
        (X.reshape(N, 2, 4, 3), {"channels": "first"}, (4, 3, 2), "image"),
        (X.reshape(N, 2, 4, 3), {"grid": "4x3x2", "channels": "first"}, (4, 3, 2), "image"),
    ],
)
def test_every_array_becomes_rows_columns_channels(given, options, shape, grid):
    data = from_arrays(given, Y, **options)
    assert (data.shape, data.grid, data.x.dtype, data.name) == (shape, grid, np.float32, "data")
    assert np.sort(data.x[7].ravel()) == pytest.approx(np.sort(X[7]), abs=1e-6)


def test_places_are_where_they_were():
    images = X.reshape(N, 4, 3, 2)
    last = from_arrays(images, Y, channels="last").x
    assert last == pytest.approx(images, abs=1e-6)
    assert from_arrays(np.moveaxis(images, -1, 1), Y, channels="first").x == pytest.approx(images, abs=1e-6)
    flat = from_arrays(np.moveaxis(images, -1, 1).reshape(N, -1), Y, grid="4x3x2", channels="first").x
    assert flat == pytest.approx(images, abs=1e-6)
    series = from_arrays(X.reshape(N, 3, 8), Y, channels="first").x
    assert series[:, 0, :, 2] == pytest.approx(X.reshape(N, 3, 8)[:, 2], abs=1e-6)


def test_anything_that_is_an_array_will_do():
    data = from_arrays(Wrapped(X), Wrapped(Y))
    assert data.x[:, 0, :, 0] == pytest.approx(X, abs=1e-6)
    assert data.y.tolist() == Y.tolist()
    assert from_arrays(X.tolist(), Y.tolist()).shape == (1, 24, 1)
    assert from_arrays(X > 0, Y).x.max() == 1


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (Y, ("0", "1", "2")),
        (Y.astype(float), ("0", "1", "2")),
        (np.array(["b", "a", "c"])[Y], ("a", "b", "c")),
        (np.array([b"b", b"a", b"c"])[Y], ("a", "b", "c")),
        (pd.Categorical(np.array(["up", "down", "left"])[Y]), ("down", "left", "up")),
        (pd.Series(Y, index=np.arange(N) + 5), ("0", "1", "2")),
        ((Y > 0), ("False", "True")),
        (Y[:, None], ("0", "1", "2")),
        (Y.astype(object), ("0", "1", "2")),
        ([f"class {each}" for each in Y], ("class 0", "class 1", "class 2")),
    ],
)
def test_labels_of_any_type_become_numbers(labels, names):
    data = from_arrays(X, labels)
    assert data.classes == names
    flat = np.ravel(np.asarray(labels))
    told = [each.decode() if isinstance(each, bytes) else str(each) for each in flat]
    for number, name in zip(data.y, told, strict=True):
        assert names[number] == name.removesuffix(".0")


def test_real_targets_need_the_metric_mse():
    target = X[:, 0] * 3
    data = from_arrays(X, target, metric="mse")
    assert data.classes == () and data.y == pytest.approx(target) and data.y.dtype == np.float64
    assert from_arrays(X, Y, metric="mse").classes == ()


def test_a_frame_has_numbers_booleans_and_categories():
    frame = pd.DataFrame(
        {
            "size": np.arange(N) / 7,
            "old": Y > 0,
            "colour": pd.Categorical(np.array(["red", "blue", "grey"])[Y]),
            "count": pd.array(np.arange(N), dtype="Int64"),
            "kind": np.array(["x", "y", "z"])[Y],
            "who": np.arange(N) // 4,
        }
    )
    data = from_arrays(frame, "kind", groups="who")
    assert (data.shape, data.grid, data.classes) == ((1, 4, 3), "table", ("x", "y", "z"))
    assert data.groups is not None and data.groups.tolist() == (np.arange(N) // 4).tolist()
    assert data.x[:, 0, 2].sum(axis=1).tolist() == [1.0] * N  # one-hot
    order = ["blue", "grey", "red"]
    assert [order[place] for place in data.x[:, 0, 2].argmax(axis=1)] == frame["colour"].tolist()
    assert data.x[:, 0, 0, 0] == pytest.approx(frame["size"], abs=1e-5)
    assert data.x[:, 0, 0, 1:].max() == 0 and data.x[:, 0, 1, 0].tolist() == (Y > 0).tolist()


def test_numbers_among_objects_are_numbers():
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    data = from_arrays(frame.astype(object).assign(old=np.array(Y > 0, object)), Y)
    assert (data.x[..., :3, :] == from_arrays(frame, Y).x).all() and set(data.x[:, 0, 3, 0]) == {0.0, 1.0}


def test_frames_of_others_are_frames():
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"size": X[:, 0], "age": X[:, 1], "kind": np.array(["x", "y", "z"])[Y]})
    told, wanted = from_arrays(pa.Table.from_pandas(frame), "kind"), from_arrays(frame, "kind")
    assert (told.x == wanted.x).all() and (told.grid, told.classes) == (wanted.grid, wanted.classes)


def test_channels_that_a_column_does_not_use_are_no_constants():
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.array(["red", "blue"])[Y % 2]), "c": 1.0})
    assert from_arrays(frame, Y).warnings == ("1 of 3 features is the same in all examples",)


def test_a_frame_whose_columns_are_numbered_is_a_series():
    frame = pd.DataFrame(X, columns=[f"t{place}" for place in range(1, 25)])
    assert from_arrays(frame, Y).grid == "series"
    assert from_arrays(frame[frame.columns[::-1]], Y).grid == "table"
    assert from_arrays(frame, Y, grid="4x6x1").shape == (4, 6, 1)


def test_unequal_lengths_are_padded_or_cut():
    series = [X[place, : 20 + place % 3] for place in range(N)]
    padded = from_arrays(series, Y, lengths="pad")
    assert padded.shape == (1, 22, 1) and padded.x[0, 0, 20:, 0].tolist() == [0, 0]
    assert padded.x[2, 0, :, 0] == pytest.approx(X[2, :22], abs=1e-6)
    cut = from_arrays(series, Y, lengths="cut")
    assert cut.shape == (1, 20, 1) and cut.x[:, 0, :, 0] == pytest.approx(X[:, :20], abs=1e-6)
    for data, words in ((padded, "padded with zeros at the end to 22"), (cut, "cut to 20")):
        assert any(words in warning for warning in data.warnings)


def test_every_example_as_its_own_group_is_no_group():
    assert from_arrays(X, Y, groups=np.arange(N)).groups is None


def test_groups_may_be_a_column():
    who = np.arange(N) // 4
    found = from_arrays(X, Y, groups=pd.DataFrame({"who": who})).groups
    assert found is not None and found.tolist() == who.tolist()


def shuffled(x, y, **options):
    order = np.random.default_rng(0).permutation(len(y))
    return from_arrays(x[order], np.asarray(y)[order], **options)


def test_ordinary_data_have_no_warnings():
    assert from_arrays(X, Y).warnings == ()


KIN = np.repeat(np.arange(30), 4)
WHO = 3 * RNG.standard_normal((30, 24))
WARNINGS = {
    "copies": ((np.concatenate([X, X[:6]]), np.concatenate([Y, Y[:6]])), {}, "6 of 126 examples are copies"),
    "copies with other labels": (
        (np.concatenate([X, X[:6]]), np.concatenate([Y, (Y[:6] + 1) % 3])),
        {},
        "6 of them with another label",
    ),
    "copies in other groups": (
        (np.concatenate([X, X[:6]]), np.concatenate([Y, Y[:6]])),
        {"groups": np.concatenate([KIN, [29] * 6])},
        "6 are in another group",
    ),
    "an id": ((np.c_[X, np.arange(N)], Y), {"grid": "table"}, "column 24 numbers the rows"),
    "sorted": ((X, np.sort(Y)), {}, "sorted by label"),
    "constants": ((np.c_[X, np.ones((N, 2))], Y), {}, "2 of 26 features are the same"),
    "kin": ((X[:N] * 0.3 + WHO[KIN], KIN % 3), {}, "neighbouring rows are alike"),
    "a rare class": ((X, (np.arange(N) < 8) * 1), {}, "the class '1' has 8 of 120 examples; the balanced"),
    "maybe images": ((RNG.standard_normal((N, 64)), Y), {}, "--grid 8x8x1"),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_what_looks_odd_is_said(name):
    given, options, words = WARNINGS[name]
    warnings = from_arrays(*given, **options).warnings
    assert any(words in warning for warning in warnings), warnings
    assert not any(warning.endswith(".") for warning in warnings)


def test_kin_are_not_mentioned_where_groups_are_given_or_rows_are_unrelated():
    related = X[:N] * 0.3 + WHO[KIN]
    assert not from_arrays(related, KIN % 3, groups=KIN).warnings
    assert not shuffled(X, Y).warnings


def test_copies_inside_a_group_do_no_harm():
    x, y = np.concatenate([X, X[-2:]]), np.concatenate([Y, Y[-2:]])
    data = from_arrays(x, y, groups=np.concatenate([KIN, [29, 29]]))
    assert not any("cop" in warning for warning in data.warnings)


def test_a_column_of_persons_is_noticed():
    frame = pd.DataFrame(X, columns=[f"{chr(97 + place)}" for place in range(24)]).assign(subject=KIN)
    assert any("--groups subject" in warning for warning in from_arrays(frame, Y).warnings)
