"""An image study from the command line: its data reach the workers, and damaged ones stop it at once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from whyconv.api import open_runs

NEAR = Path(__file__).parents[4] / "shared" / "data"
REAL = Path(os.environ.get("WHYCONV_DATA") or NEAR)
SMALL = [
    "--set", "m=[16]", "--set", "task.shifted_tests=[2]", "--seeds", "1",
    "--set", "arms.ConvPool.network.channels=4", "--set", "arms.ConvPool.learner.epochs=2",
    "--set", "arms.MLP.learner.epochs=2",
]  # fmt: skip


@pytest.fixture
def mnist(tmp_path):
    """A folder with MNIST alone, copied, so that it may be damaged."""
    if not (REAL / "mnist").is_dir():
        pytest.skip("needs the published files in WHYCONV_DATA or ../shared/data")
    shutil.copytree(REAL / "mnist", tmp_path / "data" / "mnist")
    return tmp_path / "data"


def whyconv(tmp_path, *arguments):
    """The command in a process of its own that knows no data but what it is given."""
    hidden = ("WHYCONV_DATA", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [Path(sys.executable).with_name("whyconv"), *arguments], cwd=tmp_path, capture_output=True, text=True,
        check=False, env={**environment, "HOME": str(tmp_path)},
    )  # fmt: skip


@pytest.mark.long
def test_a_run_on_a_folder_of_images(mnist, tmp_path):
    line = ["run", "brutzkus.fig3c", *SMALL, "--workers", "1", "--out", "rows", "--data", str(mnist)]
    done = whyconv(tmp_path, *line)
    assert done.returncode == 0, done.stderr
    assert "Images: MNIST, 60,000 + 10,000 images of 28 x 28." in done.stderr + done.stdout
    (run,) = open_runs(tmp_path / "rows")
    assert len(run.table) == 6 and set(run.table["test_error_shift_2"].notna()) == {True}
    assert {row.status for row in run.rows.values()} == {"ok"}
    assert "6 trials: 6 reused." in whyconv(tmp_path, *line).stderr


def test_damaged_images_stop_a_run_before_anything_is_written(mnist, tmp_path):
    path = mnist / "mnist" / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-1000])
    done = whyconv(tmp_path, "run", "brutzkus.fig3c", *SMALL, "--out", "rows", "--data", str(mnist))
    assert done.returncode == 2
    assert path.name in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "rows").exists()
