"""A checkpoint gives back exactly what was saved, or nothing."""

import numpy as np
import pytest

from whyconv.errors import UserError
from whyconv.runner.checkpoint import Checkpoint, interval, sweep

ARRAYS = [np.arange(6, dtype=np.int32).reshape(2, 3), np.array(0.1), np.zeros((0, 4), np.float32)]


@pytest.fixture
def saved(tmp_path):
    checkpoint = Checkpoint(tmp_path / "checkpoints" / "abc.npz", every=0)
    checkpoint.save(ARRAYS)
    return checkpoint


def test_arrays_come_back_as_they_were(saved):
    loaded = Checkpoint(saved.path).load()
    assert len(loaded) == len(ARRAYS)
    for array, original in zip(loaded, ARRAYS, strict=True):
        assert array.dtype == original.dtype
        np.testing.assert_array_equal(array, original, strict=True)


def test_nothing_saved_is_nothing_loaded(tmp_path):
    assert Checkpoint(tmp_path / "abc.npz").load() is None


def test_every_flipped_byte_and_every_cut_is_noticed(saved):
    content = saved.path.read_bytes()
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 1
        saved.path.write_bytes(damaged)
        loaded = saved.load()  # a flip in the padding of the zip changes no array
        assert loaded is None or all(
            np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(loaded, ARRAYS, strict=True)
        )
        saved.path.write_bytes(content[:place])
        assert saved.load() is None


def test_a_checkpoint_of_another_trial_is_ignored(saved):
    other = saved.path.with_name("abd.npz")
    other.write_bytes(saved.path.read_bytes())
    assert Checkpoint(other).load() is None


def test_a_checkpoint_from_another_environment_is_ignored(tmp_path):
    Checkpoint(tmp_path / "abc.npz", every=0, environment="here").save(ARRAYS)
    assert Checkpoint(tmp_path / "abc.npz", environment="there").load() is None
    assert Checkpoint(tmp_path / "abc.npz", environment="here").load() is not None


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (type(self.path).touch, (self.path,))


def test_a_pickle_is_never_opened(tmp_path):
    path = tmp_path / "abc.npz"
    trap = np.array([Trap(tmp_path / "sprung")], object)
    np.savez(path, allow_pickle=True, array0=trap, digest=np.zeros(32, np.uint8))
    assert Checkpoint(path).load() is None
    assert not (tmp_path / "sprung").exists()


def test_saving_waits_for_its_time(tmp_path, monkeypatch):
    path = tmp_path / "abc.npz"
    Checkpoint(path).save(ARRAYS)
    assert not path.exists()
    monkeypatch.setenv("WHYCONV_CHECKPOINT_SECONDS", "0")
    Checkpoint(path).save(ARRAYS)
    assert path.exists()


def test_a_place_that_cannot_be_written_does_no_harm(tmp_path):
    (tmp_path / "file").write_text("")
    Checkpoint(tmp_path / "file" / "abc.npz", every=0).save(ARRAYS)


def test_discarding_leaves_nothing(saved):
    saved.discard()
    saved.discard()
    assert list(saved.path.parent.iterdir()) == []


@pytest.mark.parametrize("given", ["abc", "", "-1", "nan", "inf", "1e999"])
def test_seconds_that_are_none_are_refused(monkeypatch, given):
    monkeypatch.setenv("WHYCONV_CHECKPOINT_SECONDS", given)
    with pytest.raises(UserError) as caught:
        interval()
    assert str(caught.value) == (
        f"WHYCONV_CHECKPOINT_SECONDS={given} was given; give a number of seconds, 0 or more, such as 30."
    )


def test_what_killed_processes_left_is_swept_away_and_nothing_else(tmp_path):
    stays = {"new.npz", "done.txt"}
    for name in (*stays, "done.npz", "new.npz.7-ab.tmp"):
        (tmp_path / "checkpoints" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "checkpoints" / name).touch()
    (tmp_path / "done.npz").touch()
    sweep(tmp_path, {"done"})
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == stays
    assert (tmp_path / "done.npz").exists()


def test_a_link_is_not_swept(tmp_path):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    elsewhere.mkdir()
    folder.mkdir()
    (elsewhere / "dear.tmp").touch()
    (folder / "checkpoints").symlink_to(elsewhere)
    sweep(folder, set())
    assert (elsewhere / "dear.tmp").exists()
