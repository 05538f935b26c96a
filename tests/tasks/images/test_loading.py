"""What is loaded is what was published, from the first place that has it."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from whyconv.errors import UserError
from whyconv.tasks import images
from whyconv.tasks.images.catalogue import SETS, published

pytest_plugins = ["image_fixtures"]

NEAR = Path(__file__).parents[4] / "shared" / "data"
REAL = Path(os.environ.get("WHYCONV_DATA") or NEAR)


@pytest.fixture
def real(monkeypatch, tmp_path):
    if not (REAL / "mnist").is_dir():
        pytest.skip("needs the published files in WHYCONV_DATA or ../shared/data")
    monkeypatch.setenv("WHYCONV_DATA", str(REAL))
    monkeypatch.setenv("WHYCONV_CACHE", str(tmp_path))


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_idx_files_give_the_images_and_labels(small, folder, name):
    loaded = images.load(name)
    for part, (pictures, labels) in zip((loaded.train, loaded.test), small.arrays[name], strict=True):
        assert part.images.dtype == part.labels.dtype == np.uint8
        assert np.array_equal(part.images, pictures) and np.array_equal(part.labels, labels)
        assert part.images.shape[1:] == (4, 3, 1)
        assert not part.images.flags.writeable and not part.labels.flags.writeable
    assert loaded.name == name and loaded.title == SETS[name].title and loaded.classes == 10


def test_batches_of_cifar_have_their_channels_last(small, folder):
    loaded = images.load("cifar-10")
    first, second, *_, test = small.arrays["cifar-10"]
    assert np.array_equal(loaded.train.images, np.concatenate([first[0], second[0]]))
    assert np.array_equal(loaded.train.labels, np.concatenate([first[1], second[1]]))
    assert np.array_equal(loaded.test.images, test[0]) and np.array_equal(loaded.test.labels, test[1])
    assert loaded.train.images.flags.c_contiguous and not loaded.train.images.flags.writeable


def test_batches_are_chosen_by_their_numbers(small, folder):
    small.write("cifar-10", small.cache / "cifar-10")
    assert len(images.load("cifar-10").train.labels) == 12, "the folder comes first and has two batches"
    assert np.array_equal(images.load("cifar-10", (2,)).train.images, small.arrays["cifar-10"][1][0])
    assert images.load("cifar-10", (2, 1)) is images.load("cifar-10")
    later = images.load("cifar-10", (2, 5))  # only the cache has the fifth
    assert np.array_equal(later.train.labels[:6], small.arrays["cifar-10"][1][1])
    assert np.array_equal(later.train.labels[6:], small.arrays["cifar-10"][4][1])


@pytest.mark.parametrize(
    ("name", "batches", "words"),
    [
        ("cifar-10", (), "name some of"),
        ("cifar-10", (0,), r"\(1, 2, 3, 4, 5\)"),
        ("cifar-10", (6,), r"\(6,\) of cifar-10"),
        ("cifar-10", (1, 1), "each once"),
        ("mnist", (1,), "only cifar-10"),
        ("digits", (1,), "only cifar-10"),
        ("svhn", None, "'svhn'; known sets: mnist, fashion-mnist, cifar-10, digits"),
    ],
)
def test_what_does_not_exist_is_refused(small, name, batches, words):
    for ask in (images.load, images.digest, images.describe):
        with pytest.raises(UserError, match=words):
            ask(name, batches)


def test_a_set_is_read_once_in_a_process_and_again_from_another_folder(small, folder, tmp_path):
    first = images.load("mnist")
    (folder / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(b"changed meanwhile")
    assert images.load("mnist") is first
    small.write("mnist", tmp_path / "other" / "mnist")
    images.use_folder(tmp_path / "other")
    again = images.load("mnist")
    assert again is not first and np.array_equal(again.train.images, first.train.images)


def test_the_folder_comes_before_the_cache(small, folder):
    small.write("mnist", small.cache / "mnist")
    (small.cache / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(b"damaged")
    images.load("mnist")
    (folder / "mnist" / "train-labels-idx1-ubyte.gz").unlink()  # the folder is incomplete: the cache's turn
    with pytest.raises(UserError, match=str(small.cache)):
        images.load("mnist")


def test_the_cache_is_where_the_environment_says(small, monkeypatch, tmp_path):
    for variable, place in (
        ("HOME", ".cache/whyconv"),
        ("XDG_CACHE_HOME", "whyconv"),
        ("WHYCONV_CACHE", "."),
    ):
        monkeypatch.delenv("WHYCONV_CACHE", raising=False)
        monkeypatch.setenv(variable, str(tmp_path / variable))
        assert not images.here("mnist")
        small.write("mnist", tmp_path / variable / place / "data" / "mnist")
        assert images.here("mnist")


@pytest.mark.parametrize("place", ["mnist", "MNIST/raw", "."])
def test_other_layouts_of_a_folder(small, tmp_path, place):
    small.write("mnist", tmp_path / "data" / place)
    images.use_folder(tmp_path / "data")
    assert images.here("mnist") and not images.here("fashion-mnist")
    assert np.array_equal(images.load("mnist").test.labels, small.arrays["mnist"][1][1])


def test_files_in_the_folder_itself_are_told_apart_by_their_sizes(small, tmp_path):
    small.write("fashion-mnist", tmp_path / "data")
    images.use_folder(tmp_path / "data")
    assert images.here("fashion-mnist") and not images.here("mnist")
    assert len(images.load("fashion-mnist").train.labels) == 13


def test_the_folder_of_the_archive_has_a_name_of_its_own(small, tmp_path):
    small.write("cifar-10", tmp_path / "cifar-10-batches-bin")
    images.use_folder(tmp_path)
    assert len(images.load("cifar-10").train.labels) == 30


def test_here_looks_for_files_and_reads_none(small, tmp_path):
    assert images.here("digits") and not images.here("mnist") and not images.here("cifar-10")
    home = small.write("mnist", small.cache / "mnist")
    for path in home.iterdir():
        path.write_bytes(b"anything")
    assert images.here("mnist")
    (home / "t10k-labels-idx1-ubyte.gz").unlink()
    assert not images.here("mnist")
    with pytest.raises(UserError, match="'emnist'"):
        images.here("emnist")


def test_the_batches_that_are_here(small):
    assert images.batches_here() == (1, 2, 3, 4, 5), "as a download would give"
    home = small.write("cifar-10", small.cache / "cifar-10", {"data_batch_2.bin", "data_batch_4.bin"})
    assert not images.here("cifar-10"), "there is no test batch"
    assert images.batches_here() == (1, 2, 3, 4, 5)
    small.write("cifar-10", home, {"test_batch.bin"})
    assert images.here("cifar-10") and images.batches_here() == (2, 4)
    for number in (2, 4):
        (home / f"data_batch_{number}.bin").unlink()
    assert not images.here("cifar-10"), "there is nothing to train on"


def test_auto_is_the_first_that_is_here(small):
    assert images.resolve("auto", ("mnist", "fashion-mnist")) == "digits"
    small.write("fashion-mnist", small.cache / "fashion-mnist")
    assert images.resolve("auto", ("mnist", "fashion-mnist")) == "fashion-mnist"
    small.write("mnist", small.cache / "mnist")
    assert images.resolve("auto", ("mnist", "fashion-mnist")) == "mnist"
    assert images.resolve("auto", ("fashion-mnist", "mnist")) == "fashion-mnist"
    assert images.resolve("cifar-10", ("mnist",)) == "cifar-10", "a name is taken at its word"
    with pytest.raises(UserError, match=r"'svhn'.*mnist, fashion-mnist, cifar-10, digits"):
        images.resolve("svhn", ())


def test_the_digest_needs_no_file_and_tells_data_apart(small, monkeypatch):
    monkeypatch.setenv("WHYCONV_DATA", "/no/such/folder")
    every = images.digest("cifar-10")
    assert every == images.digest("cifar-10", (5, 4, 3, 2, 1)) == images.digest("cifar-10", (1, 2, 3, 4, 5))
    told = {images.digest(name) for name in ("mnist", "fashion-mnist", "digits")}
    told |= {every, images.digest("cifar-10", (1,)), images.digest("cifar-10", (2,))}
    assert len(told) == 6 and all(len(each) == 64 for each in told)
    before = images.digest("mnist")
    changed = SETS["mnist"].test[1]._replace(md5="0" * 32)
    monkeypatch.setitem(SETS, "mnist", SETS["mnist"]._replace(test=(SETS["mnist"].test[0], changed)))
    assert images.digest("mnist") != before


def test_sets_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("WHYCONV_CACHE", str(tmp_path))
    monkeypatch.delenv("WHYCONV_DATA", raising=False)
    assert images.describe("mnist") == "MNIST, 60,000 + 10,000 images of 28 x 28"
    assert images.describe("fashion-mnist") == "Fashion-MNIST, 60,000 + 10,000 images of 28 x 28"
    assert images.describe("cifar-10") == "CIFAR-10, 50,000 + 10,000 colour images of 32 x 32"
    part = "CIFAR-10 in part: 20,000 of 50,000 training images (batches 1, 2)"
    assert images.describe("cifar-10", (2, 1)) == part
    for file in ("data_batch_4.bin", "test_batch.bin"):
        (tmp_path / "data" / "cifar-10").mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / "cifar-10" / file).touch()
    assert images.describe("cifar-10").endswith("10,000 of 50,000 training images (batch 4)")
    digits = "the 1,797 digits of 8 x 8 that ship with scikit-learn (embedded; not MNIST)"
    assert images.describe("digits") == digits


def test_the_digits_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    loaded, source = images.load("digits"), load_digits()
    assert loaded.train.images.shape == (1297, 8, 8, 1) and loaded.test.images.shape == (500, 8, 8, 1)
    assert loaded.train.images.dtype == loaded.train.labels.dtype == np.uint8
    every = np.concatenate([loaded.train.images, loaded.test.images])
    labels = np.concatenate([loaded.train.labels, loaded.test.labels])
    rank = [hashlib.sha256(f"digit {index}".encode()).hexdigest() for index in range(1797)]
    for row, index in enumerate(np.argsort(rank)):
        scaled = [round(value * 255 / 16) for value in source.data[index]]
        assert every[row].ravel().tolist() == scaled and labels[row] == source.target[index]
    seen = [array.tobytes() for part in (loaded.train, loaded.test) for array in part]
    assert images.digest("digits") == hashlib.sha256(b"".join(seen)).hexdigest()
    assert np.bincount(loaded.test.labels).min() >= 35
    assert images.load("digits") is loaded and not loaded.train.images.flags.writeable


def test_other_digits_than_the_known_are_refused(monkeypatch):
    import sklearn.datasets

    from whyconv.tasks.images import digits

    pixels, labels = sklearn.datasets.load_digits(return_X_y=True)
    labels[0] = 1
    monkeypatch.setattr(sklearn.datasets, "load_digits", lambda return_X_y: (pixels, labels))
    with pytest.raises(UserError, match="digits in this scikit-learn are not the expected"):
        digits.load()


def test_a_folder_is_named_by_its_absolute_path(small, folder, tmp_path, monkeypatch):
    monkeypatch.delenv("WHYCONV_DATA")
    monkeypatch.chdir(tmp_path)
    images.use_folder("given")
    assert os.environ["WHYCONV_DATA"] == str(folder)


def test_a_folder_without_sets_is_refused_and_not_kept(small, tmp_path, monkeypatch):
    monkeypatch.setenv("WHYCONV_DATA", "before")
    empty = tmp_path / "empty"
    with pytest.raises(UserError, match=rf"{empty} does not exist; give --data or WHYCONV_DATA"):
        images.use_folder(empty)
    (empty / "cifar-10-batches-py").mkdir(parents=True)
    (empty / "cifar-10-batches-py" / "data_batch_1").write_bytes(b"\x80\x04.")
    with pytest.raises(UserError, match=rf"{empty} has no file of mnist, fashion-mnist, cifar-10;.*pickles"):
        images.use_folder(empty)
    assert os.environ["WHYCONV_DATA"] == "before"
    for place, words in (("before", "before does not exist"), (str(empty), "has no file of")):
        monkeypatch.setenv("WHYCONV_DATA", place)
        for ask in (images.load, images.here):
            with pytest.raises(UserError, match=words):
                ask("mnist")


def test_the_module_is_light():
    heavy = "{'jax', 'numpy', 'sklearn', 'pooch', 'requests', 'rich'}"
    code = f"import sys, whyconv.tasks.images as images; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_table_is_complete():
    files = [file for about in published().values() for file in about.files(about.batches)]
    assert len({file.md5 for file in files}) == 14 and all(len(file.md5) == 32 for file in files)
    for about in published().values():
        assert len(about.mirrors) >= 2 and all(mirror.endswith("/") for mirror in about.mirrors)
        assert len({mirror.split("/")[2] for mirror in about.mirrors}) == len(about.mirrors)
    assert SETS["mnist"].download == 9_912_422 + 28_881 + 1_648_877 + 4_542
    assert SETS["cifar-10"].download == 170_052_171
    assert all(file.size == 10_000 * 3073 for file in files if file.kind == "records")


def test_the_published_mnist(real):
    loaded = images.load("mnist")
    assert loaded.train.images.shape == (60_000, 28, 28, 1) and loaded.test.images.shape == (
        10_000,
        28,
        28,
        1,
    )
    assert loaded.train.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert loaded.test.labels[:5].tolist() == [7, 2, 1, 0, 4]
    assert loaded.train.images.mean() / 255 == pytest.approx(0.130660, abs=1e-6)


def test_the_published_fashion_mnist(real):
    loaded = images.load("fashion-mnist")
    assert loaded.train.labels[:3].tolist() == [9, 0, 0]
    assert loaded.train.images.mean() / 255 == pytest.approx(0.286041, abs=1e-6)


def test_the_published_cifar(real):
    first = images.batches_here()[:1]
    loaded = images.load("cifar-10", first)
    assert loaded.train.images.shape == loaded.test.images.shape == (10_000, 32, 32, 3)
    means = loaded.test.images[::10].mean((0, 1, 2)) / 255
    assert means == pytest.approx([0.49140, 0.48216, 0.44653], abs=0.02)
    if first == (1,):
        assert loaded.train.labels[0] == 6 and loaded.train.images[0, 0, 0].tolist() == [59, 62, 63]
