"""Random streams are those of jax.random, though no program of JAX makes them."""

import jax
import numpy as np
import pytest

from whyconv.spec import digest
from whyconv.streams import stream, threefry


@pytest.mark.parametrize("wide", [False, True])
def test_a_stream_is_a_key_of_jax_folded_with_a_number(wide):
    with jax.enable_x64(wide):
        for number in range(12):
            words = int(digest(["world", {"name": "detection"}, number])[:16], 16)
            theirs = jax.random.fold_in(jax.random.key(words >> 32), words & 0xFFFFFFFF)
            ours = stream("world", {"name": "detection"}, number)
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(jax.random.key_data(ours), jax.random.key_data(theirs))
            np.testing.assert_array_equal(jax.random.bits(ours, (3,)), jax.random.bits(theirs, (3,)))


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_the_published_values_of_threefry(key, counter, words):
    assert threefry(key, counter) == words
