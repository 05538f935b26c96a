"""Files of every format: what is written by other code is read back, whatever form it has."""

import builtins
import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from whyconv.auditing.dataset import BadData
from whyconv.auditing.readers import Asked, read, readers

RNG = np.random.default_rng(2)
N = 60
X = RNG.standard_normal((N, 10)).round(3)
Y = np.arange(N) % 2
NAMES = np.array(["down", "up"])
KIN = np.arange(N) // 4


def same(data, x=X, y=Y):
    assert data.x[:, 0, :, 0] == pytest.approx(x, abs=1e-5)
    assert data.y.tolist() == y.tolist()


def test_readers_are_found_by_suffix():
    assert {".npz", ".npy", ".csv", ".tsv", ".parquet", ".ts", ".arff", "a folder"} <= set(readers())


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    save(tmp_path / "Some.npz", X=X, y=Y)
    data = read(tmp_path / "Some.npz", Asked())
    same(data)
    assert (data.name, data.grid, data.groups) == ("Some", "series", None)


def test_npz_with_arrays_of_other_names(tmp_path):
    np.savez(tmp_path / "d.npz", a=np.asfortranarray(X), b=NAMES[Y], who=KIN, X=X * 0)
    data = read(tmp_path / "d.npz", Asked(label="b", x="a", groups="who"), grid="table")
    same(data)
    assert data.classes == ("down", "up") and data.grid == "table"
    assert data.groups is not None and data.groups.tolist() == KIN.tolist()


@pytest.mark.parametrize(
    ("x", "y"), [("x.npy", "y.npy"), ("X_train.npy", "y_train.npy"), ("data.npy", "y.npy")]
)
def test_npy_with_labels_beside_it(tmp_path, x, y):
    np.save(tmp_path / x, X)
    np.save(tmp_path / y, Y)
    same(read(tmp_path / x, Asked()))


def test_npy_with_labels_named(tmp_path):
    np.save(tmp_path / "x.npy", X.astype(">f8"))
    np.save(tmp_path / "answers.npy", Y)
    np.save(tmp_path / "who.npy", KIN)
    asked = Asked(label=str(tmp_path / "answers.npy"), groups=str(tmp_path / "who.npy"))
    data = read(tmp_path / "x.npy", asked)
    same(data)
    assert data.groups is not None


def test_a_header_that_promises_too_much_takes_no_memory(tmp_path):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**4)}
    )
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("X.npy", stream.getvalue())
        archive.writestr("y.npy", stream.getvalue())
    with pytest.raises(BadData, match=r"would take 80,000\.0 GB"):
        read(tmp_path / "d.npz", Asked())


@pytest.mark.parametrize(("separator", "name"), [(",", "d.csv"), (";", "d.csv"), ("\t", "d.tsv")])
def test_csv(tmp_path, separator, name):
    frame = pd.DataFrame(X, columns=[f"c{each}x" for each in range(10)]).assign(kind=NAMES[Y], who=KIN)
    frame.to_csv(tmp_path / name, sep=separator, index=False)
    data = read(tmp_path / name, Asked(label="kind", groups="who"))
    same(data)
    assert (data.grid, data.classes, data.name) == ("table", ("down", "up"), "d")
    assert data.groups is not None and data.groups.max() == 14


def test_csv_without_a_header(tmp_path):
    pd.DataFrame(np.c_[Y, X]).to_csv(tmp_path / "d.csv", header=False, index=False)
    same(read(tmp_path / "d.csv", Asked(label="0")))
    with pytest.raises(BadData, match="numbered from 0"):
        read(tmp_path / "d.csv", Asked())


def test_csv_with_a_byte_order_mark_and_a_usual_name(tmp_path):
    frame = pd.DataFrame(X).assign(Class=NAMES[Y])
    frame.to_csv(tmp_path / "d.csv", index=False, encoding="utf-8-sig")
    data = read(tmp_path / "d.csv", Asked())
    same(data)
    assert data.grid == "series"  # its columns are numbered


def test_parquet_with_categories(tmp_path):
    frame = pd.DataFrame(X).rename(columns=str).assign(
        colour=pd.Categorical(np.array(["red", "blue"])[Y]), label=NAMES[Y]
    )  # fmt: skip
    frame.to_parquet(tmp_path / "d.parquet")
    data = read(tmp_path / "d.parquet", Asked())
    assert data.shape == (1, 11, 2) and data.grid == "table"
    assert data.x[:, 0, :10, 0] == pytest.approx(X, abs=1e-5)
    assert data.x[:, 0, 10].argmax(axis=1).tolist() == (1 - Y).tolist()


@pytest.mark.parametrize(
    ("package", "name"), [("pyarrow", "d.parquet"), ("PIL", "images")], ids=["pyarrow", "Pillow"]
)
def test_a_package_that_is_not_there_is_named(tmp_path, monkeypatch, package, name):
    if name == "images":
        (tmp_path / name / "a").mkdir(parents=True)
        (tmp_path / name / "a" / "1.png").write_bytes(b"")
    else:
        (tmp_path / name).write_bytes(b"")
    usual = builtins.__import__

    def without(wanted, *more, **options):
        if wanted.partition(".")[0] == package:
            raise ImportError(wanted)
        return usual(wanted, *more, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BadData, match=r"install whyconv\["):
        read(tmp_path / name, Asked())


def ts_text(series, labels, head=""):
    """The format of sktime and aeon, written from its description."""
    lines = ["# a comment", "@problemName made", "@timestamps false", *head.split("|"), "@data"]
    lines += [
        ":".join([*(",".join(map(str, channel)) for channel in example.T), str(label)])
        for example, label in zip(series, labels, strict=True)
    ]
    return "\n".join(lines) + "\n"


def test_ts_of_one_channel(tmp_path):
    (tmp_path / "d.ts").write_text(
        ts_text(X[:, :, None], NAMES[Y], "@univariate true|@classLabel true down up")
    )
    data = read(tmp_path / "d.ts", Asked())
    same(data)
    assert (data.grid, data.classes) == ("series", ("down", "up"))


def test_ts_of_several_channels_and_unequal_lengths(tmp_path):
    series = [X[place].reshape(5, 2)[: 4 + place % 2] for place in range(N)]
    (tmp_path / "d.ts").write_text(
        ts_text(series, NAMES[Y], "@dimensions 2|@equalLength false|@classLabel true down up")
    )
    data = read(tmp_path / "d.ts", Asked(), lengths="pad")
    assert data.shape == (1, 5, 2)
    assert data.x[1, 0] == pytest.approx(X[1].reshape(5, 2), abs=1e-5)
    assert data.x[0, 0, 4].tolist() == [0, 0]
    assert read(tmp_path / "d.ts", Asked(), lengths="cut").shape == (1, 4, 2)


def test_ts_of_real_targets_needs_no_option(tmp_path):
    (tmp_path / "d.ts").write_text(ts_text(X[:, :, None], X[:, 0] * 2, "@targetlabel true"))
    data = read(tmp_path / "d.ts", Asked())
    assert data.classes == () and data.y == pytest.approx(X[:, 0] * 2)


def test_arff(tmp_path):
    lines = ["@relation r", *(f"@attribute att{each} numeric" for each in range(10))]
    lines += ["@attribute target {down,up}", "@data"]
    lines += [",".join([*map(str, row), label]) for row, label in zip(X, NAMES[Y], strict=True)]
    (tmp_path / "d.arff").write_text("\n".join(lines))
    data = read(tmp_path / "d.arff", Asked())
    same(data)
    assert (data.grid, data.classes) == ("series", ("down", "up"))


def test_arff_of_several_channels(tmp_path):
    lines = ["@relation r", "@attribute relationalAtt relational"]
    lines += [*(f"@attribute t{each} numeric" for each in range(5)), "@end relationalAtt"]
    lines += ["@attribute class {down,up}", "@data"]
    for row, label in zip(X, NAMES[Y], strict=True):
        inside = "\\n".join(",".join(map(str, channel)) for channel in row.reshape(2, 5))
        lines.append(f'"{inside}",{label}')
    (tmp_path / "d.arff").write_text("\n".join(lines))
    data = read(tmp_path / "d.arff", Asked())
    assert (data.shape, data.grid, data.classes) == ((1, 5, 2), "series", ("down", "up"))
    assert data.x[3, 0] == pytest.approx(X[3].reshape(2, 5).T, abs=1e-5)
    assert data.y.tolist() == Y.tolist()


@pytest.mark.parametrize(
    ("mode", "depth"), [("L", 1), ("RGB", 3), ("1", 1), ("P", 3), ("RGBA", 3), ("I;16", 1)]
)
def test_a_folder_of_images(tmp_path, mode, depth):
    pixels = RNG.integers(0, 255, (40, 6, 9), dtype=np.uint8)
    for place, each in enumerate(pixels):
        kind = tmp_path / "set" / "ab"[place % 2]
        kind.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(each)
        image = Image.fromarray(each.astype(np.uint16) * 256) if mode == "I;16" else image.convert(mode)
        image.save(kind / f"{place:02}.png")
    (tmp_path / "set" / ".hidden").write_text("")
    (tmp_path / "set" / "readme.txt").write_text("")
    data = read(tmp_path / "set", Asked())
    assert (data.shape, data.grid, data.classes) == ((6, 9, depth), "image", ("a", "b"))
    assert data.name == "set" and data.y.tolist() == [0] * 20 + [1] * 20
    expected = pixels[np.r_[0:40:2, 1:40:2]].astype(float)
    if mode in ("L", "RGB", "I;16"):
        scale = 256 if mode == "I;16" else 1
        assert data.x[..., 0] == pytest.approx(expected * scale)


def test_grey_and_coloured_images_become_coloured(tmp_path):
    for place in range(40):
        kind = tmp_path / "ab"[place % 2]
        kind.mkdir(exist_ok=True)
        Image.new("RGB" if place == 7 else "L", (5, 4), place).save(kind / f"{place:02}.png")
    assert read(tmp_path, Asked()).shape == (4, 5, 3)
