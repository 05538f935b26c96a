"""Damaged files of arrays: one sentence, whatever their bytes lead to, and no memory taken for them."""

import io

import numpy as np
import pytest

from whyconv.auditing.bad_data import BadData
from whyconv.auditing.readers import Asked, read


def header(shape: str) -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize("shape", ["(-1, 60)", "(2, -3)", "(2, 3", "((((((((("])
def test_a_damaged_header_is_one_sentence(tmp_path, shape):
    np.save(tmp_path / "y.npy", np.arange(2))
    (tmp_path / "x.npy").write_bytes(header(shape) + bytes(1000))
    with pytest.raises(BadData, match="not an intact array"):
        read(tmp_path / "x.npy", Asked(label=str(tmp_path / "y.npy")))


def test_a_damaged_compressed_file_is_one_sentence(tmp_path):
    made = io.BytesIO()
    np.savez_compressed(made, X=np.random.default_rng(0).normal(size=(60, 9)), y=np.arange(60) % 2)
    content = bytearray(made.getvalue())
    content[len(content) // 3 : len(content) // 3 + 40] = bytes(40)
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(BadData):
        read(tmp_path / "x.npz", Asked())
