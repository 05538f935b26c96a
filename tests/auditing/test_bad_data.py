"""Bad inputs: each gets one sentence and exit code 2 (a ValueError in Python), and nothing is written."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from whyconv.auditing.asking import require_target, require_time
from whyconv.auditing.dataset import BadData, from_arrays
from whyconv.auditing.design import designed
from whyconv.auditing.readers import Asked, read
from whyconv.errors import UserError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((100, 12)).astype(np.float32)
Y = np.arange(100) % 2


def changed(array, where, value):
    array = array.astype(np.float64)
    array[where] = value
    return array


def npz(path, **arrays):
    np.savez(path / "d.npz", **arrays)
    return "d.npz"


def text(name, content):
    def write(path):
        (path / name).write_text(content)
        return name

    return write


def table(path, frame=None, name="d.csv"):
    if frame is None:
        frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(kind=np.where(Y, "up", "down"))
    frame.to_csv(path / name, index=False)
    return name


def linked(path):
    npz(path, X=X, y=Y)
    (path / "link.npz").symlink_to(path / "d.npz")
    return "link.npz"


def piped(path):
    os.mkfifo(path / "pipe.csv")
    return "pipe.csv"


def folder(path):
    (path / "d.csv").mkdir()
    return "d.csv"


def pickled(path):
    np.save(path / "x.npy", np.array([{"a": 1}] * 50, dtype=object), allow_pickle=True)
    np.save(path / "y.npy", Y[:50])
    return "x.npy"


def objects(path):
    np.savez(path / "d.npz", X=np.array([[1], [1, 2]], dtype=object), y=Y)
    return "d.npz"


def images(path, odd=None, classes=("cat", "dog")):
    from PIL import Image

    for kind in classes:
        (path / "pets" / kind).mkdir(parents=True)
        for number in range(4):
            image = Image.fromarray(RNG.integers(0, 255, (8, 8), dtype=np.uint8))
            image.save(path / "pets" / kind / f"{number}.png")
    if odd:
        odd(path / "pets" / classes[0] / "1.png", Image)
    return "pets"


def other_size(file, pillow):
    pillow.new("L", (9, 8)).save(file)


def unreadable(file, _):
    file.write_bytes(file.read_bytes()[:60])


def no_image(file, _):
    file.write_text("P6 whatever")


def linked_image(file, _):
    file.unlink()
    file.symlink_to("0.png")


def huge(file, pillow):
    pillow.new("1", (4000, 10)).save(file)


TS = "@problemName t\n@timeStamps false\n@univariate true\n@classLabel true a b\n@data\n"
SERIES = "".join(f"{i},1.5,2,{i % 7}:{'ab'[i % 2]}\n" for i in range(60))

FILES = {
    "missing file": (lambda path: "nothing.npz", [], "No such file"),
    "unknown suffix": (text("d.mat", "x"), [], "ends in .mat; give .arff, .csv"),
    "no suffix": (text("data", "x"), [], "has no ending"),
    "a pickle": (text("d.pkl", "x"), [], "pickles run code"),
    "a link": (linked, [], "is a link; give what it points to"),
    "a pipe": (piped, [], "neither a file nor a folder"),
    "a folder with a suffix": (folder, [], "has no subfolders with images"),
    "pickled objects": (pickled, [], "holds Python objects"),
    "objects in an npz": (objects, [], "holds Python objects"),
    "no archive": (text("d.npz", "PK but no archive"), [], "not an intact .npz"),
    "no array": (lambda path: (np.save(path / "y.npy", Y), text("x.npy", "no array")(path))[1], [],
                 "not an intact array"),
    "npz without X": (lambda path: npz(path, features=X, y=Y), [], "--x"),
    "npz without y": (lambda path: npz(path, X=X, classes=Y), [], "arrays there: X, classes"),
    "npz without the array named": (lambda path: npz(path, X=X, target=Y), ["--label", "targt"], "target"),
    "npy without labels": (lambda path: (np.save(path / "x.npy", X), "x.npy")[1], [], "--label"),
    "npy with a strange label": (lambda path: (np.save(path / "x.npy", X), "x.npy")[1],
                                 ["--label", "y.txt"], "give the name of an .npy file"),
    "lengths differ": (lambda path: npz(path, X=X, y=Y[:-3]), [], "100 examples but 97 labels"),
    "one-hot labels": (lambda path: npz(path, X=X, y=np.eye(2)[Y]), [], "one-hot (100 x 2)"),
    "labels in two columns": (lambda path: npz(path, X=X, y=X[:, :2]), [], "one label for every example"),
    "missing values": (lambda path: npz(path, X=changed(X, (slice(17, 29), 3), np.nan), y=Y), [],
                       "12 of 100 examples have missing values, first row 17"),
    "infinite": (lambda path: npz(path, X=changed(X, (5, 3), np.inf), y=Y), [],
                 "infinite values, first row 5"),
    "too large for float32": (lambda path: npz(path, X=changed(X, (5, 3), 1e300), y=Y), [], "beyond 3.4e38"),
    "words": (lambda path: npz(path, X=X.astype(str), y=Y), [], "X holds words"),
    "complex": (lambda path: npz(path, X=X + 1j, y=Y), [], "complex numbers"),
    "one class": (lambda path: npz(path, X=X, y=Y * 0), [], "all labels are '0'"),
    "class too small": (lambda path: npz(path, X=X, y=np.where(np.arange(100) < 3, 2, Y)), [],
                        "1 of 3 classes have fewer than 5 examples: '2' (3)"),
    "too few examples": (lambda path: npz(path, X=X[:30], y=Y[:30]), [], "there are 30 examples"),
    "nothing": (lambda path: npz(path, X=X[:0], y=Y[:0]), [], "is empty"),
    "one feature": (lambda path: npz(path, X=X[:, :1], y=Y), [], "one feature"),
    "one axis": (lambda path: npz(path, X=X[:, 0], y=Y), [], "X has 1 axes"),
    "grid product": (lambda path: npz(path, X=X, y=Y), ["--grid", "3x5x1"],
                     "the grid 3x5x1 has 15 features, and every example is 12"),
    "grid of nonsense": (lambda path: npz(path, X=X, y=Y), ["--grid", "round"], "choose series, table"),
    "ambiguous axes": (lambda path: npz(path, X=X.reshape(100, 3, 4), y=Y), [], "--channels first"),
    "channels of nonsense": (lambda path: npz(path, X=X, y=Y), ["--channels", "middle"], "first or last"),
    "real labels": (lambda path: npz(path, X=X, y=Y + 0.5), [], "for regression give --metric mse"),
    "too many classes": (lambda path: npz(path, X=X, y=np.arange(100)), [], "too many for classes"),
    "constant target": (lambda path: npz(path, X=X, y=Y * 0 + 0.5), ["--metric", "mse"],
                        "all targets are 0.5"),
    "words as target": (lambda path: npz(path, X=X, y=np.where(Y, "a", "b")), ["--metric", "mse"],
                        "not a number"),
    "unknown metric": (lambda path: npz(path, X=X, y=Y), ["--metric", "auc"], "choose one of auto, error"),
    "metric of other labels": (lambda path: npz(path, X=X, y=Y + 0.5), ["--metric", "error"], "--metric mse"),
    "too few groups": (lambda path: npz(path, X=X, y=Y, who=np.arange(100) % 4), ["--groups", "who"],
                       "there are 4 groups"),
    "groups are classes": (lambda path: npz(path, X=X, y=np.arange(100) % 8, who=np.arange(100) % 8),
                           ["--groups", "who"], "groups are labels"),
    "a class in one group": (lambda path: npz(path, X=X, y=(np.arange(100) % 10 == 0) * 1,
                                              who=np.arange(100) % 10), ["--groups", "who"],
                             "in one group only"),
    "no such groups": (lambda path: npz(path, X=X, y=Y), ["--groups", "who"], "no array 'who'"),
    "groups of another length": (lambda path: npz(path, X=X, y=Y, who=Y[:9]), ["--groups", "who"],
                                 "100 examples but groups of 9"),
    "label column absent": (table, ["--label", "knd"], "columns like it: kind"),
    "label column not said": (table, [], "give --label and one of kind, a, b, c"),
    "group column absent": (table, ["--label", "kind", "--groups", "d"], "--groups d was given"),
    "words in a column": (lambda path: table(path, pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(
        colour=np.where(Y, "red", "blue"), label=Y)), [], "the column 'colour' holds 'blue'"),
    "missing cells": (lambda path: table(path, pd.DataFrame(changed(X, (7, 0), np.nan)).assign(label=Y)), [],
                      "1 of 100 examples have missing values, first row 7"),
    "missing labels": (lambda path: table(path, pd.DataFrame(X).assign(label=changed(Y, 4, np.nan))), [],
                       "1 of 100 labels are missing, first row 4"),
    "ragged lines": (text("d.csv", "a,b,label\n1,2,0\n1,2,3,4,5\n"), [], "is not a table"),
    "an empty table": (text("d.csv", "\n"), [], "is empty"),
    "not UTF-8": (lambda path: ((path / "d.csv").write_bytes(b"a,label\n\xff\xfe,1\n"), "d.csv")[1], [],
                  "UTF-8"),
    "no Parquet": (text("d.parquet", "no"), [], "not an intact Parquet file"),
    "x of a table": (table, ["--label", "kind", "--x", "a"], "leave it out"),
    "no data in ts": (text("d.ts", "@classLabel true a b\n1,2,3:a\n"), [], "no line @data"),
    "ts without labels": (text("d.ts", "@classLabel false\n@data\n1,2,3\n"), [], "no labels"),
    "ts with time stamps": (text("d.ts", TS.replace("Stamps false", "Stamps true")), [], "time stamps"),
    "ts with words": (text("d.ts", TS + "1,two,3:a\n"), [], "line 6: could not convert"),
    "ts of unequal lengths": (text("d.ts", TS + SERIES + "1,2:a\n"), [], "2 to 4 steps; give --pad"),
    "ts with missing values": (text("d.ts", TS + SERIES + "1,?,2,3:a\n"), [],
                               "1 of 61 examples have missing"),
    "ts of classes as real": (text("d.ts", TS.replace("class", "target") + SERIES), ["--metric", "error"],
                              "no number"),
    "no arff": (text("d.arff", "@relation r\n@attribute a nonsense\n"), [], "not ARFF that can be read"),
    "arff of text": (text("d.arff", "@relation r\n@attribute a string\n@data\nx\n"), [], "text or dates"),
    "image sizes differ": (lambda path: images(path, other_size), [], "cat/1.png is 9 x 8"),
    "unreadable image": (lambda path: images(path, unreadable), [], "cat/1.png is not an intact image"),
    "no image": (lambda path: images(path, no_image), [], "cat/1.png is not an intact image"),
    "a link to an image": (lambda path: images(path, linked_image), [], "not a plain file"),
    "an image too large": (lambda path: images(path, huge), [], "at most 2048 a side"),
    "too few images": (images, [], "fewer than 5 examples"),
    "a folder of files": (lambda path: (text("a.txt", "")(path), ".")[1], [], "no subfolders with images"),
    "a label of a folder": (images, ["--label", "kind"], "leave it out"),
    "impossible target": (lambda path: npz(path, X=X, y=Y), ["--target", "-0.1"], "above 0 and below 0.5"),
    "a target that guessing reaches": (lambda path: npz(path, X=X, y=Y), ["--target", "0.6"], "below 0.5"),
    "a budget below one round": (lambda path: npz(path, X=X, y=Y), ["--minutes", "0.001"], "a round takes"),
    "no time": (lambda path: npz(path, X=X, y=Y), ["--minutes", "0"], "a number above 0"),
    "no memory": (lambda path: npz(path, X=X, y=Y), ["--memory", "-1"], "a number above 0"),
    "memory for nothing": (lambda path: npz(path, X=X, y=Y), ["--memory", "0.000001"], "would take"),
    "pad and cut": (lambda path: npz(path, X=X, y=Y), ["--pad", "--cut"], "choose one"),
    "an unknown arm": (lambda path: npz(path, X=X, y=Y), ["--arms", "RNN"], "there is no arm 'RNN'"),
    "no arm": (lambda path: npz(path, X=X, y=Y), ["--arms", ","], "no arm was given"),
    "more workers than cores": (lambda path: npz(path, X=X, y=Y), ["--workers", "9999"], "one for each core"),
    "no workers": (lambda path: npz(path, X=X, y=Y), ["--workers", "0", "--dry-run"], "0 workers were given"),
    "forget and look only": (lambda path: npz(path, X=X, y=Y), ["--forget", "--dry-run"], "leave one out"),
    "forget what is no audit": (lambda path: (images(path), "pets")[1], ["--forget"],
                                "not the folder of an audit"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_bad_input_gets_one_sentence_and_changes_nothing(name, whyconv, tmp_path, monkeypatch):
    make, options, words = FILES[name]
    monkeypatch.chdir(tmp_path)
    given = make(tmp_path)
    before = sorted(str(path) for path in Path().rglob("*"))
    done = whyconv("audit", given, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.startswith("whyconv: ") and done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr and len(done.stderr) < 620
    assert sorted(str(path) for path in Path().rglob("*")) == before


def test_there_are_as_many_as_the_pilot_listed():
    assert len(FILES) >= 25


class Untold:
    """Refuses to be an array, as a tensor with gradients does."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("use detach")


FRAME = pd.DataFrame(X, columns=[f"f{place}" for place in range(12)])
ARRAYS = {
    "lengths differ": ((X, Y[:5]), {}, "100 examples but 5 labels"),
    "no labels": ((X, None), {}, "there are no labels"),
    "one-hot": ((X, np.eye(2)[Y]), {}, "y.argmax"),
    "ragged": (([[1.0], [1.0, 2.0]] * 30, [0, 1] * 30), {}, "--pad"),
    "a list of words": (([["a", "b"]] * 60, [0, 1] * 30), {}, "X holds words"),
    "groups of another length": ((X, Y, Y[:7]), {}, "groups of 7"),
    "a name without a frame": ((X, "label"), {}, "needs a pandas frame"),
    "a column that is not there": ((FRAME, "f77"), {}, "f7"),
    "dates": ((FRAME.assign(day=pd.Timestamp("2026-01-01")), Y), {}, "the column 'day'"),
    "too many categories": (
        (FRAME.assign(who=pd.Categorical([str(place) for place in range(100)])), Y),
        {},
        "100 categories",
    ),
    "five axes": ((X.reshape(100, 1, 2, 2, 3), Y), {}, "5 axes"),
    "a series in four axes": ((X.reshape(100, 2, 2, 3), Y), {"grid": "series"}, "four axes"),
    "a group that is missing": ((X, Y, np.array([None] * 100)), {}, "the group of row 0 is missing"),
    "an infinite target": (
        (X, changed(Y, 3, np.inf)),
        {"metric": "mse"},
        "the target in row 3 is infinite",
    ),
    "lengths of nonsense": ((X, Y), {"lengths": "stretch"}, "pad or cut"),
    "values under a mask": ((np.ma.masked_array(X, X > 2), Y), {}, "values under a mask"),
    "features that refuse": ((Untold(), Y), {}, "RuntimeError: use detach"),
    "labels that refuse": ((X, Untold()), {}, "RuntimeError: use detach"),
    "groups that refuse": ((X, Y, Untold()), {}, "RuntimeError: use detach"),
    "examples that are no arrays": (([[[1.0], [1.0, 2.0]], [[3.0]]] * 30, [0, 1] * 30), {}, "of one shape"),
    "images of different widths": (([[[1.0]]] * 30 + [[[1.0, 2.0]]] * 30, [0, 1] * 30), {}, "of one shape"),
    "real labels as objects": ((X, X[:, 0].astype(object)), {}, "for regression give --metric mse"),
    "targets too large": ((X, X[:, 0].astype(float) * 1e200), {"metric": "mse"}, "give them in another unit"),
    "targets too small": ((X, X[:, 0].astype(float) * 1e-200), {"metric": "mse"}, "in another unit"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_bad_arrays_are_value_errors(name):
    given, options, words = ARRAYS[name]
    with pytest.raises(BadData) as error:
        from_arrays(*given, **options)
    assert words in str(error.value) and "\n" not in str(error.value)
    assert isinstance(error.value, ValueError) and isinstance(error.value, UserError)


@pytest.mark.parametrize(
    ("metric", "y", "fine", "guess"),
    [
        ("error", [0] * 60 + [1] * 40, 0.39, 0.4),
        ("balanced", [0] * 60 + [1] * 40, 0.49, 0.5),
        ("logloss", [0] * 50 + [1] * 50, 0.69, 0.6931),
        ("mse", [0.0] * 50 + [2.0] * 50, 0.99, 1.0),
    ],
)
def test_a_target_lies_between_nothing_and_what_a_constant_answer_has(metric, y, fine, guess):
    data = from_arrays(X, y, metric=metric)
    require_target(fine, data, metric)
    for bad in (guess + 1e-3, 0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(BadData, match="was given"):
            require_target(bad, data, metric)


def test_time_for_one_round_is_asked_of_the_forecast():
    study = designed(from_arrays(X, Y))
    require_time(study, 1.0, 1)
    with pytest.raises(BadData, match="--minutes"):
        require_time(study, 0.001, 1)


def test_a_column_of_words_is_named_first_where_labels_may_be(tmp_path):
    names = [f"t{number}" for number in range(40)]
    lines = [",".join([*names, "kind"]), *(",".join([*"0" * 40, word]) for word in ("rise", "fall") * 10)]
    (tmp_path / "series.csv").write_text("\n".join(lines))
    with pytest.raises(BadData, match=r"give --label and one of kind, t0, "):
        read(tmp_path / "series.csv", Asked())
