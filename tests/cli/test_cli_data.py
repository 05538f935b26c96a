"""``whyconv data``: what it prints, for people and for programs, and what it refuses."""

import gzip
import json

import pytest
from small_sets import files_in

from whyconv.settings import configure

pytest_plugins = ["image_fixtures"]


def test_the_list_tells_where_everything_is(small, folder, whyconv, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    for path in (folder / "fashion-mnist").iterdir():
        path.unlink()
    (folder / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    home = small.write("mnist", small.cache / "mnist")
    code, told, error = whyconv("data", "list")
    assert code == 0 and error == ""
    size = sum(map(len, small.content["fashion-mnist"].values())) / 1e6
    expected = [
        "mnist          MNIST, 12 + 5 images of 4 x 3",
        f"               in {home}",
        f"               {folder}/mnist lacks t10k-labels-idx1-ubyte.gz",
        "fashion-mnist  Fashion-MNIST, 13 + 6 images of 4 x 3",
        f"               not here; whyconv data fetch fashion-mnist downloads {size:.1f} MB",
        "cifar-10       CIFAR-10 in part: 12 of 30 training images (batches 1, 2)",
        f"               in {folder}/cifar-10",
        "digits         the 1,797 digits of 8 x 8 that ship with scikit-learn (embedded; not MNIST)",
        "               always here",
    ]
    assert told.split() == " ".join(expected).split(), "long paths may begin a new line"
    assert told.splitlines()[:2] == expected[:2]


def test_the_list_fits_the_terminal(folder, whyconv, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = whyconv("data", "list")[1].splitlines()
    assert all(len(line) <= 80 or "/" in line for line in lines)
    assert lines[-2].strip() == "not MNIST)"


def test_the_list_for_programs(small, folder, whyconv):
    (folder / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    told = {each["name"]: each for each in json.loads(whyconv("data", "list", "--json")[1])}
    assert list(told) == ["mnist", "fashion-mnist", "cifar-10", "digits"]
    assert told["mnist"] == {
        "name": "mnist",
        "summary": "MNIST, 12 + 5 images of 4 x 3",
        "here": False,
        "embedded": False,
        "train": 12,
        "test": 5,
        "download_bytes": sum(map(len, small.content["mnist"].values())),
        "folder": None,
        "batches": None,
        "incomplete": {f"{folder}/mnist": ["t10k-labels-idx1-ubyte.gz"]},
        "damaged": {},
        "unpacked": "",
    }
    assert told["cifar-10"]["batches"] == [1, 2] and told["cifar-10"]["train"] == 12
    assert told["cifar-10"]["download_bytes"] == len(small.archive) and told["cifar-10"]["here"]
    assert told["fashion-mnist"]["folder"] == f"{folder}/fashion-mnist"
    assert told["digits"] == {
        "name": "digits",
        "summary": told["digits"]["summary"],
        "here": True,
        "embedded": True,
        "train": 1297,
        "test": 500,
        "download_bytes": 0,
    }


def test_the_list_names_damaged_files_by_their_sizes(small, folder, whyconv, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    batch, images = (
        folder / "cifar-10" / "data_batch_2.bin",
        small.cache / "mnist" / "train-images-idx3-ubyte.gz",
    )
    batch.write_bytes(batch.read_bytes()[:-37])
    for path in (folder / "mnist").iterdir():
        path.unlink()
    small.write("mnist", small.cache / "mnist")
    images.write_bytes(images.read_bytes() + b"0")
    code, told, _ = whyconv("data", "list")
    size = len(small.content["mnist"][images.name])
    assert code == 0
    for words in (
        f"in {folder}/cifar-10, damaged",
        f"{batch} has 185 bytes instead of 222; replace it with the published file, or remove it and run "
        "whyconv data fetch cifar-10 (details: whyconv data verify cifar-10)",
        f"in {small.cache}/mnist, damaged",
        f"{images} has {size + 1} bytes instead of {size}; whyconv data fetch mnist downloads it again "
        "(details: whyconv data verify mnist)",
        f"in {folder}/fashion-mnist",
    ):
        assert words in " ".join(told.split())
    assert told.count(", damaged") == 2
    listed = {each["name"]: each for each in json.loads(whyconv("data", "list", "--json")[1])}
    assert {name: each["here"] for name, each in listed.items()} == {
        "mnist": False, "fashion-mnist": True, "cifar-10": False, "digits": True,
    }  # fmt: skip
    assert list(listed["mnist"]["damaged"]) == [str(images)] and not listed["fashion-mnist"]["damaged"]


def test_a_damaged_copy_behind_a_sound_one_is_named_and_the_set_is_here(small, folder, whyconv):
    home = small.write("mnist", small.cache / "mnist")
    (home / "t10k-labels-idx1-ubyte.gz").write_bytes(b"")
    told = json.loads(whyconv("data", "list", "--json")[1])[0]
    assert told["here"] and told["folder"] == f"{folder}/mnist"
    assert list(told["damaged"]) == [f"{home}/t10k-labels-idx1-ubyte.gz"]


def unpack(small, name, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in small.content[name].items():
        (folder / file.removesuffix(".gz")).write_bytes(gzip.decompress(data))


@pytest.mark.parametrize("place", ["mnist", "MNIST/raw", "."])
def test_unpacked_files_are_told_with_what_is_expected(small, tmp_path, whyconv, place):
    unpack(small, "mnist", tmp_path / "mine" / place)
    for command in (["list"], ["verify", "mnist"], ["fetch", "mnist"]):
        code, told, error = whyconv("data", *command, "--data", tmp_path / "mine")
        assert (code, told) == (2, "") and error.count("\n") == 1
        home = (tmp_path / "mine" / place).resolve()
        assert error.startswith(f"whyconv: {home} has train-images-idx3-ubyte, train-labels-idx1-ubyte, ")
        assert "unpacked, but only the published .gz files are read" in error
        assert error.endswith("omit this folder and run whyconv data fetch mnist.\n")


def test_unpacked_files_beside_other_sets(small, folder, whyconv, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    assert " unpacked, but" not in whyconv("data", "list")[1]
    unpack(small, "mnist", folder / "mnist")
    assert " unpacked, but" not in whyconv("data", "list")[1], "the published files are there, too"
    for file in small.content["mnist"]:
        (folder / "mnist" / file).unlink()
    told = " ".join(whyconv("data", "list")[1].split())
    assert "not here; whyconv data fetch mnist downloads" in told
    assert f"{folder}/mnist has train-images-idx3-ubyte, train-labels-idx1-ubyte, " in told
    code, _, error = whyconv("data", "verify", "mnist")
    assert code == 2 and error.startswith(f"whyconv: {folder}/mnist has train-images-idx3-ubyte, ")
    code, told, error = whyconv("data", "verify")
    assert code == 2 and error.startswith(f"whyconv: {folder}/mnist has train-images-idx3-ubyte, ")
    assert "cifar-10:" in told
    code, _, error = whyconv("data", "fetch", "mnist")
    assert code == 2 and f"MNIST is needed, but {folder}/mnist has train-images-idx3-ubyte, " in error


def test_a_study_that_takes_the_embedded_digits_says_what_it_does_not_take(folder):
    assert "Not used" not in configure("malach.fig1", "quick", {"task.images": "digits"}).data()
    (folder / "cifar-10" / "test_batch.bin").unlink()
    told = configure("malach.fig1", "quick").data()
    assert told.endswith(f"(embedded; not MNIST). Not used: {folder}/cifar-10 lacks test_batch.bin.")


def test_a_folder_given_by_the_option_counts(small, tmp_path, whyconv):
    small.write("mnist", tmp_path / "mine" / "mnist")
    for command in (["list"], ["verify", "mnist"], ["fetch", "mnist"]):
        code, told, _ = whyconv("data", *command, "--data", tmp_path / "mine")
        assert code == 0 and str(tmp_path / "mine" / "mnist") in told


@pytest.mark.parametrize("command", [["list"], ["verify"], ["fetch", "mnist"]])
def test_a_folder_without_sets_is_one_sentence(small, tmp_path, whyconv, command):
    (tmp_path / "empty").mkdir()
    for place, words in (("no-such", "does not exist"), ("empty", "has no file of mnist, fashion-mnist")):
        code, told, error = whyconv("data", *command, "--data", tmp_path / place)
        assert (code, told) == (2, "") and error.count("\n") == 1
        assert error.startswith(f"whyconv: the data folder {tmp_path / place} {words}")
    assert not small.cache.exists()


def test_verify_tells_what_is_intact(small, folder, whyconv):
    home = small.write("cifar-10", small.cache / "cifar-10")
    code, told, error = whyconv("data", "verify", "cifar-10", "digits")
    assert (code, error) == (0, "")
    assert told.splitlines() == [
        f"cifar-10: CIFAR-10 in part: 12 of 30 training images (batches 1, 2), intact in {folder}/cifar-10.",
        f"cifar-10: CIFAR-10, 30 + 4 colour images of 4 x 3, intact in {home}.",
        "digits: the 1,797 digits of 8 x 8 that ship with scikit-learn (embedded; not MNIST), intact.",
    ]


def test_verify_without_a_set_to_check(small, whyconv):
    code, told, error = whyconv("data", "verify")
    assert (code, error) == (0, "")
    assert told.splitlines()[:3] == ["mnist: not here.", "fashion-mnist: not here.", "cifar-10: not here."]
    assert told.splitlines()[3].startswith("digits: ") and told.count("\n") == 4
    code, told, error = whyconv("data", "verify", "mnist")
    assert (code, told) == (2, "")
    assert (
        error == "whyconv: mnist is not here; run whyconv data fetch mnist, or give a folder with --data.\n"
    )


def test_an_incomplete_set_is_not_intact(folder, whyconv):
    (folder / "cifar-10" / "test_batch.bin").unlink()
    (folder / "mnist" / "train-labels-idx1-ubyte.gz").unlink()
    code, told, error = whyconv("data", "verify")
    assert code == 2 and "cifar-10:" not in told and "\nmnist" not in told
    assert f"{folder}/mnist lacks train-labels-idx1-ubyte.gz, without which MNIST cannot" in error
    assert f"{folder}/cifar-10 lacks test_batch.bin, without which CIFAR-10 cannot be used" in error


def test_fetch_says_what_is_already_there(small, folder, whyconv):
    code, told, _ = whyconv("data", "fetch", "mnist", "digits")
    assert code == 0
    assert told.splitlines() == [
        f"mnist: already in {folder}/mnist, intact.",
        "digits: the 1,797 digits of 8 x 8 that ship with scikit-learn (embedded; not MNIST); "
        "nothing to download.",
    ]
    assert not small.cache.exists()


def test_fetch_completes_what_is_there_in_part(small, folder, whyconv, mirror):
    address, _ = mirror({"cifar-10-binary.tar.gz": small.archive})
    small.publish("cifar-10", mirrors=(address,))
    home = small.cache / "cifar-10"
    code, told, _ = whyconv("data", "fetch", "cifar-10")
    assert code == 0
    assert told.splitlines() == [
        f"cifar-10: now in {home}, intact.",
        f"cifar-10: {folder}/cifar-10 still comes first: "
        "CIFAR-10 in part: 12 of 30 training images (batches 1, 2).",
    ]
    assert whyconv("data", "fetch", "cifar-10")[1] == f"cifar-10: already in {home}, intact.\n"
    assert len(files_in(home)) == 6 and len(files_in(folder / "cifar-10")) == 3


def test_fetch_does_not_pass_over_a_damaged_file_of_the_user(small, folder, whyconv, mirror):
    address, asked = mirror(small.content["mnist"])
    small.publish("mnist", mirrors=(address,))
    (folder / "mnist" / "t10k-images-idx3-ubyte.gz").write_bytes(b"")
    code, _, error = whyconv("data", "fetch", "mnist")
    assert code == 2 and f"{folder}/mnist/t10k-images-idx3-ubyte.gz is truncated" in error
    assert asked == [] and not small.cache.exists()


def test_an_unknown_name_is_refused_before_anything_is_downloaded(small, whyconv, mirror):
    address, asked = mirror(small.content["mnist"])
    small.publish("mnist", mirrors=(address,))
    for command in ("fetch", "verify"):
        for unknown in ("svhn", "auto"):
            code, told, error = whyconv("data", command, "digits", "mnist", unknown)
            assert (code, told) == (2, "") and error.count("\n") == 1
            assert f"there is no image set '{unknown}'; known sets: mnist, fashion-mnist, cifar" in error
    assert asked == []


def test_a_set_that_is_not_here_is_refused_before_others_are_read(small, whyconv):
    small.write("mnist", small.cache / "mnist")
    code, told, error = whyconv("data", "verify", "mnist", "cifar-10")
    assert (code, told) == (2, "") and error.startswith("whyconv: cifar-10 is not here; run whyconv data")


@pytest.mark.parametrize("command", ["list", "fetch", "verify"])
def test_every_command_explains_itself_in_80_columns(whyconv, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, told, _ = whyconv("data", command, "--help")
    assert code == 0 and "Example" in told and f"whyconv data {command}" in told and "--data DIR" in told
    assert max(map(len, told.splitlines())) <= 80
    error = whyconv("data", command, "--nonsense")[2]
    assert error.endswith(f"see whyconv data {command} --help.\n")


def test_the_option_for_the_folder_is_the_same_everywhere(whyconv):
    for command in (["list"], ["run"], ["report"], ["data", "list"], ["data", "fetch"], ["data", "verify"]):
        told = " ".join(whyconv(*command, "--help")[1].split())
        assert "--data DIR Folder of image sets; default WHYCONV_DATA, else the cache." in told


def test_hints_of_the_groups(whyconv):
    assert whyconv("data", "lost")[2].endswith("see whyconv data --help.\n")
    assert whyconv("exact", "gradient", "--nonsense")[2].endswith("see whyconv exact gradient --help.\n")
    assert whyconv("list", "--nonsense")[2].endswith("see whyconv list --help.\n")
    assert whyconv("nonsense")[2].endswith("see whyconv --help.\n")
