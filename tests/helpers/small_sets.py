"""Small image sets in the published formats. The encoders share no code with the readers."""

import gzip
import hashlib
import io
import struct
import tarfile

import numpy as np

from whyconv.tasks.images.catalogue import SETS


def files_in(folder):
    """Every file below a folder with its bytes."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def zipped(data):
    return gzip.compress(data, mtime=0)


def idx_images(array):
    """An IDX file of images, from (count, height, width)."""
    return zipped(struct.pack(">4I", 0x803, *array.shape) + array.tobytes())


def idx_labels(array):
    return zipped(struct.pack(">2I", 0x801, len(array)) + array.tobytes())


def batch(images, labels):
    """Records of CIFAR-10: label, red plane, green plane, blue plane."""
    return b"".join(
        bytes([label]) + b"".join(image[:, :, channel].tobytes() for channel in range(3))
        for image, label in zip(images, labels, strict=True)
    )


def archive(members):
    """A gzipped tar of (name, bytes), or of (name, target) for a link."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return target.getvalue()


def md5(data):
    return hashlib.md5(data).hexdigest()


class Small:
    """The small sets: ``arrays[name]`` as they should be loaded, ``content[name]`` as they are published."""

    def __init__(self, monkeypatch, cache):
        self._set, self.cache = monkeypatch.setitem, cache
        self.arrays, self.content, self.items = {}, {}, {}
        draw = np.random.default_rng(7)
        for name, train, test in (("mnist", 12, 5), ("fashion-mnist", 13, 6)):
            parts = {
                part: self._draw(draw, count, (4, 3, 1)) for part, count in (("train", train), ("t10k", test))
            }
            files = {}
            for part, (images, labels) in parts.items():
                files[f"{part}-images-idx3-ubyte.gz"] = idx_images(images[..., 0])
                files[f"{part}-labels-idx1-ubyte.gz"] = idx_labels(labels)
            self.arrays[name], self.content[name] = list(parts.values()), files
            self.items[name] = {file: train if file.startswith("train") else test for file in files}
        batches = [self._draw(draw, count, (4, 3, 3)) for count in (6, 6, 6, 6, 6, 4)]
        files = [f"data_batch_{number}.bin" for number in range(1, 6)] + ["test_batch.bin"]
        self.arrays["cifar-10"] = batches
        self.content["cifar-10"] = {file: batch(*part) for file, part in zip(files, batches, strict=True)}
        self.items["cifar-10"] = {**dict.fromkeys(files, 6), "test_batch.bin": 4}
        folder = "cifar-10-batches-bin/"
        self.archive = archive([(folder + file, data) for file, data in self.content["cifar-10"].items()])
        for name in self.content:
            self.publish(name)

    @staticmethod
    def _draw(draw, count, shape):
        images = draw.integers(0, 256, (count, *shape), dtype=np.uint8)
        return images, draw.integers(0, 10, count, dtype=np.uint8)

    def publish(self, name, **changes):
        """Let the table know the set as it is in ``content``."""

        def small(files):
            named = [(file, self.content[name][file.name]) for file in files]
            return tuple(
                file._replace(items=self.items[name][file.name], size=len(data), md5=md5(data))
                for file, data in named
            )

        about = SETS[name]
        sized = {"train": small(about.train), "test": small(about.test)}
        if about.archive:
            sized["archive"] = about.archive._replace(size=len(self.archive), md5=md5(self.archive))
        shape = (4, 3, 3) if about.batched else (4, 3, 1)
        nowhere = ("http://127.0.0.1:9/",)  # the port of discard, where nobody answers
        self._set(SETS, name, about._replace(shape=shape, **{"mirrors": nowhere, **sized, **changes}))

    def write(self, name, folder, only=None):
        """Put the set's files, or some of them, into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for file, data in self.content[name].items():
            if only is None or file in only:
                (folder / file).write_bytes(data)
        return folder
