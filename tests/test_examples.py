"""What is in examples/ runs: pieces of one's own, networks of other frameworks, notebooks."""

import importlib.util
import json
from pathlib import Path

import pytest
from in_process import Here

from whyconv import registry
from whyconv.runner.coordinator import complete
from whyconv.runs import Run
from whyconv.settings import configure

EXAMPLES = Path(__file__).parent.parent / "examples"
TINY = {
    "m": [40, 48], "seeds": 2, "test_size": 100, "arms.ConvPool.network.channels": 8,
    "arms.ConvPool.learner.epochs": 3, "arms.MLP.learner.epochs": 3,
}  # fmt: skip


@pytest.fixture(autouse=True)
def pieces_go_again(monkeypatch):
    registry.pieces("task")
    monkeypatch.setattr(registry, "_pieces", dict(registry._pieces))


def ran(tmp_path, changes, study="brutzkus.fig3a"):
    chosen = configure(study, "quick", changes)
    done = complete(chosen, tmp_path / "rows", place=Here())
    found = Run(chosen, done.points, done.rows, tmp_path, "", "quick")
    assert not found.failed and not found.unfit
    return found


def needs(package):
    return pytest.mark.skipif(not importlib.util.find_spec(package), reason=f"{package} is not installed")


def test_a_task_and_a_learner_in_one_file(tmp_path):
    registry.load(EXAMPLES / "order_of_bumps.py")
    found = ran(tmp_path, {**TINY, "task": "own.order", "arms.SVM.learner": "own.means"})
    means = found.table[found.table["arm"] == "SVM"]
    assert (means["distance"] > 0).all() and means["test_error"].mean() < 0.5


def test_the_control_of_the_example_study_is_real(tmp_path):
    registry.load(EXAMPLES / "top_two_pooling.py")
    study = registry.find("study", "own.top-two")()
    scrambled = {cell.labels["arm"]: cell.task for cell in study.cells()}
    assert scrambled["top two, control"]["scrambled"] and scrambled["top two"] == "detection"


@needs("flax")
def test_a_network_in_flax(tmp_path):
    registry.load(EXAMPLES / "flax_arm.py")
    found = ran(tmp_path, {**TINY, "arms.ConvPool.network": {"name": "own.flax-pool", "channels": 8}})
    assert "own.flax-pool channels 8" in found.arm_names["ConvPool"]
    network = found.study.arms["ConvPool"].network
    assert network.parameter_count((10, 20)) == 8 * 21 + 16 * 9 + 17


@needs("torch")
def test_a_network_in_pytorch(tmp_path):
    registry.load(EXAMPLES / "torch_arm.py")
    learner = {"name": "own.torch-pool", "channels": 32, "epochs": 200}
    found = ran(tmp_path, {**TINY, "arms.SVM.learner": learner})
    assert (found.table[found.table["arm"] == "SVM"]["train_error"] <= 0.2).all()


@pytest.mark.parametrize("name", ["flax_arm.py", "torch_arm.py"])
def test_an_example_of_a_framework_is_short(name):
    assert len((EXAMPLES / name).read_text("utf-8").splitlines()) < 60


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A folder for both notebooks, which run the same trials."""
    return tmp_path_factory.mktemp("notebooks")


@pytest.mark.parametrize("name", ["paper", "lesson"])
def test_a_notebook_runs(name, rows, monkeypatch):
    cells = json.loads((EXAMPLES / f"{name}.ipynb").read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] for cell in cells if cell["cell_type"] == "code")
    monkeypatch.chdir(rows)
    namespace = {}
    for source in code:
        exec(compile(source.replace("[20, 40]", "[40]"), "cell", "exec"), namespace)
    assert "<svg" in namespace["r"]._repr_html_()
    assert "ConvPool (stride=10)" in namespace["changed"].answer
