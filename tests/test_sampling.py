"""Examples for other frameworks are those that trials get."""

import json

import numpy as np
import pytest

import whyconv
from whyconv.errors import UserError
from whyconv.execution import draw
from whyconv.spec import build
from whyconv.streams import stream


def test_a_file_has_what_a_trial_sees_and_larger_samples_contain_smaller_ones(tmp_path):
    path = tmp_path / "x.npz"
    found = whyconv.sample("signal", m=40, seed=3, set={"patches": 10}, out=path)
    task = build("task", {"name": "signal", "patches": 10})
    keys = [stream(name, task.lineage(), 3) for name in ("world", "train")]
    assert np.array_equal(found["x"], np.asarray(draw(task, *keys, 40).x))
    larger = whyconv.sample("signal", m=60, seed=3, set={"patches": 10})
    assert np.array_equal(larger["x"][:40], found["x"]) and not np.array_equal(found["x"], found["test_x"])
    with np.load(path, allow_pickle=False) as stored:
        assert set(stored) == set(found)
        assert np.array_equal(stored["y"], found["y"]) and set(stored["y"]) == {-1, 1}
        facts = json.loads(str(stored["facts"]))
    assert facts["task"] == {"name": "signal", "patches": 10} and facts["seed"] == 3
    assert facts["known"]["oracle_risk"] < facts["known"]["linear_risk"]
    assert np.linalg.norm(found["world.signal"][0]) == pytest.approx(1, rel=1e-5)


def test_the_world_of_bits_decides_the_labels():
    found = whyconv.sample("k-pattern", m=50, set=["n_bits=8", "k_window=2"])
    assert found["x"].shape == (50, 8) and len(found["world.truth_table"]) == 4


def test_patches_are_the_patterns_of_the_world():
    found = whyconv.sample("detection", m=20, set=["patterns=6", "coherence=0.2"], seed=3)
    distances = np.abs(found["x"][:, :, None] - found["world.patterns"]).max(axis=-1)
    assert (distances.min(axis=-1) < 1e-6).all()


def test_nothing_is_overwritten_and_bad_input_is_said(tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(b"mine")
    with pytest.raises(UserError, match="exists"):
        whyconv.sample("detection", m=4, out=path)
    assert path.read_bytes() == b"mine"
    whyconv.sample("detection", m=4, out=path, force=True)
    assert path.read_bytes() != b"mine"
    for bad in ({"m": 0}, {"seed": -1}, {"out": tmp_path / "x.txt"}, {"set": {"nothing": 1}}):
        with pytest.raises(UserError):
            whyconv.sample("detection", **bad)
