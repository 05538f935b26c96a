"""Damaged and wrong files: each is named with what is wrong with it, exit code 2, and none is used."""

import gzip
import os
import pickle
import re
import struct
from pathlib import Path

import pytest
from small_sets import files_in, idx_images, idx_labels, md5, zipped

from whyconv.errors import UserError
from whyconv.tasks import images
from whyconv.tasks.images.catalogue import SETS

pytest_plugins = ["image_fixtures"]

IMAGES, LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"


def unzipped(small, file):
    return gzip.decompress(small.content["mnist"][file])


class Trap:
    """Writes a file when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("sprung",)


BAD = {
    "truncated gz": (
        "mnist",
        IMAGES,
        lambda s: s.content["mnist"][IMAGES][:-20],
        "is truncated: it ends after",
    ),
    "no trailer": ("mnist", LABELS, lambda s: s.content["mnist"][LABELS][:-1], "is truncated: it ends after"),
    "empty": ("mnist", IMAGES, lambda s: b"", "is truncated: it ends after 0 of"),
    "a page": ("mnist", IMAGES, lambda s: b"<html>not found</html>", "is not an intact gzip file"),
    "a flipped bit": (
        "mnist",
        LABELS,
        lambda s: s.content["mnist"][LABELS][:-8] + b"\0\0\0\0" + s.content["mnist"][LABELS][-4:],
        "is not an intact gzip file: CRC",
    ),
    "labels for images": (
        "mnist",
        IMAGES,
        lambda s: s.content["mnist"][LABELS],
        "begins with 0x00000801, but a file of images begins with 0x00000803",
    ),
    "images for labels": (
        "mnist",
        LABELS,
        lambda s: s.content["mnist"][IMAGES],
        "begins with 0x00000803, but a file of labels begins with 0x00000801",
    ),
    "nothing in gzip": ("mnist", LABELS, lambda s: zipped(b""), "begins with 0x, but a file of labels"),
    "fewer labels": (
        "mnist",
        LABELS,
        lambda s: idx_labels(s.arrays["mnist"][0][1][:-1]),
        "holds 11 labels for 12 images",
    ),
    "fewer images": (
        "mnist",
        IMAGES,
        lambda s: idx_images(s.arrays["mnist"][0][0][:-1, :, :, 0]),
        "holds 11 images for 12 labels",
    ),
    "a turned size": (
        "mnist",
        IMAGES,
        lambda s: zipped(struct.pack(">4I", 0x803, 12, 3, 4) + unzipped(s, IMAGES)[16:]),
        "holds images of 3 x 4 instead of 4 x 3",
    ),
    "a short body": (
        "mnist",
        IMAGES,
        lambda s: zipped(unzipped(s, IMAGES)[:-1]),
        "holds fewer bytes than the 144 that its header announces",
    ),
    "a body without end": (
        "mnist",
        LABELS,
        lambda s: zipped(unzipped(s, LABELS) + bytes(10**6)),
        "holds more bytes than the 12 that its header announces",
    ),
    "another label": (
        "mnist",
        LABELS,
        lambda s: idx_labels((s.arrays["mnist"][0][1] + 1) % 10),
        "is not the published file",
    ),
    "zipped again": (
        "mnist",
        IMAGES,
        lambda s: gzip.compress(unzipped(s, IMAGES), mtime=1),
        "is not the published file",
    ),
    "another set": (
        "mnist",
        IMAGES,
        lambda s: s.content["fashion-mnist"][IMAGES],
        "holds 13 images for 12 labels",
    ),
    "a short batch": (
        "cifar-10",
        "data_batch_2.bin",
        lambda s: s.content["cifar-10"]["data_batch_2.bin"][:-37],
        "is truncated: it ends after 185 of 222 bytes",
    ),
    "a long batch": (
        "cifar-10",
        "data_batch_2.bin",
        lambda s: s.content["cifar-10"]["data_batch_2.bin"] + b"0",
        "has 223 bytes, but 6 records of 37 were published",
    ),
    "another batch": (
        "cifar-10",
        "test_batch.bin",
        lambda s: s.content["cifar-10"]["test_batch.bin"][::-1],
        "is not the published file",
    ),
    "a pickle": (
        "cifar-10",
        "data_batch_1.bin",
        lambda s: pickle.dumps(Trap()),
        "is truncated: it ends after",
    ),
}


@pytest.mark.parametrize("place", ["folder", "cache"])
@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_named_with_its_fault_and_never_used(
    small, tmp_path, monkeypatch, whyconv, case, place
):
    monkeypatch.chdir(tmp_path)
    name, file, make, words = BAD[case]
    small.write("fashion-mnist", small.cache / "fashion-mnist")
    home = small.write(name, (tmp_path / "given" if place == "folder" else small.cache) / name)
    (home / file).write_bytes(make(small))
    option = ("--data", tmp_path / "given") if place == "folder" else ()
    before = files_in(tmp_path)
    code, _, error = whyconv("data", "verify", name, *option)
    assert code == 2 and error.count("\n") == 1 and error.startswith(f"whyconv: {home / file} {words}")
    published = next(each for each in SETS[name].files(SETS[name].batches) if each.name == file).md5
    assert f"(MD5 {md5(make(small))}, published {published}); " in error
    remedy = (
        f"whyconv data fetch {name} downloads it again."
        if place == "cache"
        else "or remove it and run whyconv"
    )
    assert remedy in error
    with pytest.raises(UserError, match=re.escape(f"{home / file} {words}")):
        images.load(name)
    assert files_in(tmp_path) == before
    assert not (tmp_path / "sprung").exists(), "a pickle was loaded"


def test_every_damaged_file_is_named_and_the_intact_are_told(folder, whyconv):
    for file in (IMAGES, LABELS):
        (folder / "mnist" / file).write_bytes(b"x")
    code, told, error = whyconv("data", "verify")
    assert code == 2
    assert [line.split()[1] for line in error.splitlines()] == [
        str(folder / "mnist" / file) for file in (IMAGES, LABELS)
    ]
    assert [line.partition(":")[0] for line in told.splitlines()] == ["fashion-mnist", "cifar-10", "digits"]


def test_a_wrong_sum_in_the_table_does_not_pass_a_right_file(small, folder):
    """The sum decides, not that the file can be read."""
    about = SETS["mnist"]
    small.publish("mnist", train=(about.train[0], about.train[1]._replace(md5="0" * 32)))
    with pytest.raises(UserError, match=f"{LABELS} is not the published file .*published {'0' * 32}"):
        images.load("mnist")


def test_a_file_that_cannot_be_read(folder, monkeypatch):
    def barred(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", barred)
    with pytest.raises(UserError, match=f"{IMAGES} cannot be read: Permission denied; make it readable"):
        images.load("mnist")
