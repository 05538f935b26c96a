"""Downloads: the second mirror when the first fails, nothing kept that is wrong, one process at a time."""

import fcntl
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from small_sets import archive, files_in

from whyconv.errors import UserError
from whyconv.tasks import images
from whyconv.tasks.images.download import fetch

pytest_plugins = ["image_fixtures"]

FILES = [f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
BATCHES = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
TAR = "cifar-10-binary.tar.gz"


def test_a_set_that_is_not_here_is_downloaded_once(small, mirror, capsys):
    first, asked = mirror(small.content["mnist"])
    second, unasked = mirror({})
    small.publish("mnist", mirrors=(first, second))
    loaded = images.load("mnist")
    assert np.array_equal(loaded.train.images, small.arrays["mnist"][0][0])
    assert [name for name, _ in asked] == FILES and unasked == []
    assert {encoding for _, encoding in asked} == {"identity"}, "a server must not zip or unzip"
    assert {path.name: data for path, data in files_in(small.cache).items()} == small.content["mnist"]
    assert [path.name for path in small.cache.iterdir()] == ["mnist"], "no temporary folder stays"
    assert images.here("mnist") and images.load("mnist") is loaded and len(asked) == 4
    said = capsys.readouterr()
    assert said.out == said.err == "", "there is no terminal, so there is no bar"


def test_the_bar_names_the_file(small, mirror, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    address, _ = mirror(small.content["mnist"])
    small.publish("mnist", mirrors=(address,))
    fetch("mnist")
    said = capsys.readouterr()
    size = len(small.content["mnist"][FILES[0]])
    assert all(name in said.err for name in FILES) and f"{size}/{size} bytes" in said.err
    assert said.out == ""


@pytest.mark.parametrize("first", [{}, dict.fromkeys(FILES, b"something else")], ids=["missing", "wrong"])
def test_the_second_mirror_serves_when_the_first_fails(small, mirror, first):
    bad, tried = mirror(first)
    good, asked = mirror(small.content["mnist"])
    small.publish("mnist", mirrors=(bad, good))
    images.load("mnist")
    assert [name for name, _ in tried] == [name for name, _ in asked] == FILES
    assert {path.name: data for path, data in files_in(small.cache).items()} == small.content["mnist"]


def test_no_network_is_one_sentence_that_says_what_to_do(small, whyconv, mirror):
    address, _ = mirror({})
    host = address.split("/")[2]
    small.publish("mnist", mirrors=("http://127.0.0.1:9/", address))
    code, told, error = whyconv("data", "fetch", "mnist")
    assert code == 2 and told == "" and error.count("\n") == 1
    for words in (
        f"MNIST is needed, but it is not in the cache {small.cache}",
        f"{FILES[0]} could not be downloaded (127.0.0.1:9: no connection; {host}: HTTP status 404)",
        "--data DIR or WHYCONV_DATA",
        "whyconv data fetch mnist",
        "--set task.images=digits",
    ):
        assert words in error
    assert list(small.cache.iterdir()) == []


def test_the_sentence_tells_what_the_folder_lacks(small, folder):
    (folder / "mnist" / FILES[3]).unlink()
    with pytest.raises(
        UserError, match=f"MNIST is needed, but {folder}/mnist lacks {FILES[3]}, and {FILES[0]}"
    ):
        images.load("mnist")
    with pytest.raises(UserError, match=f"{folder}/cifar-10 lacks data_batch_3.bin, data_batch_4.bin"):
        images.load("cifar-10", (3,))
    for path in (folder / "fashion-mnist").iterdir():
        path.unlink()
    with pytest.raises(UserError, match=f"it is not in {folder} or the cache {small.cache}, and"):
        images.load("fashion-mnist")


def test_what_two_mirrors_have_wrong_is_named_and_not_kept(small, mirror):
    wrong = {**small.content["mnist"], FILES[1]: small.content["fashion-mnist"][FILES[1]]}
    (one, _), (two, _) = mirror(wrong), mirror(wrong)
    small.publish("mnist", mirrors=(one, two))
    with pytest.raises(UserError, match=f"{FILES[1]} could not.*: a wrong checksum; .*: a wrong checksum"):
        images.load("mnist")
    kept = {path.name: data for path, data in files_in(small.cache).items()}
    assert kept == {FILES[0]: small.content["mnist"][FILES[0]]}, "only what is right is kept"
    assert not images.here("mnist")


def test_the_sentence_names_the_batches_that_can_be_used(small, folder):
    words = r"lacks data_batch_3.bin, .*; use what was found with --set task.batches=\[1,2\], give"
    with pytest.raises(UserError, match=words):
        images.load("cifar-10", (3,))
    (folder / "cifar-10" / "test_batch.bin").unlink()
    with pytest.raises(UserError, match=r"\); give a folder that has it"):
        images.load("cifar-10", (3,))


def test_only_what_is_missing_is_downloaded(small, mirror):
    address, asked = mirror(small.content["mnist"])
    small.publish("mnist", mirrors=(address,))
    small.write("mnist", small.cache / "mnist", set(FILES[:3]))
    images.load("mnist")
    assert [name for name, _ in asked] == FILES[3:]
    assert fetch("mnist") == small.cache / "mnist" and len(asked) == 1


def test_a_damaged_file_of_the_cache_waits_for_the_command(small, mirror, whyconv):
    """It is refused without a download, kept while mirrors fail, and replaced by whyconv data fetch."""
    home = small.write("mnist", small.cache / "mnist")
    (home / FILES[1]).write_bytes(b"damaged")
    before = files_in(small.cache)
    code, told, error = whyconv("data", "fetch", "mnist")
    assert code == 2 and f"{home} is damaged, and {FILES[1]} could not" in error
    assert f"{home / FILES[1]} is not an intact gzip file" in told
    assert files_in(small.cache) == before
    address, asked = mirror(small.content["mnist"])
    small.publish("mnist", mirrors=(address,))
    with pytest.raises(UserError, match=f"{FILES[1]} is not an intact gzip file"):
        images.load("mnist")
    assert asked == [] and files_in(small.cache) == before
    code, told, error = whyconv("data", "fetch", "mnist")
    assert code == 0 and error == "" and told.endswith(f"mnist: now in {home}, intact.\n")
    assert [name for name, _ in asked] == [FILES[1]]
    images.load("mnist")


def test_cifar_comes_as_an_archive(small, mirror):
    address, asked = mirror({TAR: small.archive})
    small.publish("cifar-10", mirrors=("http://127.0.0.1:9/", address))
    loaded = images.load("cifar-10", (3,))
    assert np.array_equal(loaded.train.images, small.arrays["cifar-10"][2][0])
    assert {path.name: data for path, data in files_in(small.cache).items()} == small.content["cifar-10"]
    assert len(images.load("cifar-10").train.labels) == 30
    assert [name for name, _ in asked] == [TAR]


def test_a_downloaded_set_is_whole_and_kept_for_the_process(small, mirror):
    address, asked = mirror({TAR: small.archive})
    small.publish("cifar-10", mirrors=(address,))
    loaded = images.load("cifar-10")
    assert len(loaded.train.labels) == 30 and len(loaded.test.labels) == 4
    assert images.load("cifar-10") is loaded and len(asked) == 1


def test_paths_and_links_of_an_archive_are_not_followed(small, mirror, tmp_path):
    content = small.content["cifar-10"]
    small.archive = archive(
        [
            ("../../../escaped.txt", b"out"),
            (f"{tmp_path}/absolute.txt", b"out"),
            ("cifar-10-batches-bin/readme.html", b"more"),
            ("cifar-10-batches-bin/data_batch_1.bin", "/etc/passwd"),
            ("cifar-10-batches-bin/data_batch_2.bin", b"other content"),
            *((f"../../../../{file}", data) for file, data in content.items()),
        ]
    )
    address, _ = mirror({TAR: small.archive})
    small.publish("cifar-10", mirrors=(address,))
    fetch("cifar-10")
    assert {str(path): data for path, data in files_in(tmp_path).items()} == {
        f"cache/data/cifar-10/{file}": data for file, data in content.items()
    }
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))


@pytest.mark.parametrize("change", [None, b"other"], ids=["missing", "wrong"])
def test_an_archive_without_a_member_is_not_used(small, mirror, change):
    content = {**small.content["cifar-10"], "data_batch_4.bin": change}
    small.archive = archive([(f"x/{file}", data) for file, data in content.items() if data])
    address, _ = mirror({TAR: small.archive})
    small.publish("cifar-10", mirrors=(address,))
    with pytest.raises(UserError, match=f"{TAR} was downloaded, but has no intact data_batch_4.bin"):
        fetch("cifar-10")
    assert files_in(small.cache) == {}


def test_the_test_batch_is_moved_last(small, mirror, monkeypatch):
    """Whoever is killed between two moves leaves an incomplete set, not one that seems to be in part."""
    moved, move = [], Path.replace
    monkeypatch.setattr(Path, "replace", lambda path, target: (moved.append(target.name), move(path, target)))
    address, _ = mirror({TAR: small.archive})
    small.publish("cifar-10", mirrors=(address,))
    fetch("cifar-10")
    assert moved == BATCHES


def test_a_second_process_waits_and_finds_the_files(small, mirror):
    address, asked = mirror(small.content["mnist"])
    small.publish("mnist", mirrors=(address,))
    small.cache.mkdir(parents=True)
    other = os.open(small.cache, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    waiting = threading.Thread(target=fetch, args=("mnist",))
    waiting.start()
    time.sleep(0.1)
    assert waiting.is_alive() and asked == []
    small.write("mnist", small.cache / "mnist")
    os.close(other)
    waiting.join(10)
    assert not waiting.is_alive() and asked == []


def test_a_cache_that_cannot_be_written(small, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("WHYCONV_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"file/data cannot be used: Not a directory; set WHYCONV_CACHE"):
        images.load("mnist")
