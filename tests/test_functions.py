"""Losses, activations, poolings, noise laws of one's own: one file, found by name, part of the identity."""

import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from training import NoCheckpoint

from whyconv import api, exact, registry
from whyconv.errors import UserError
from whyconv.exact.fourier.activations import piecewise_linear
from whyconv.exact.signal.law import simulate
from whyconv.execution import execute as perform
from whyconv.functions import Named
from whyconv.networks._patches import pooled
from whyconv.networks.activations import activation
from whyconv.networks.deep import DeepCNN
from whyconv.networks.deep_embedding import as_deep_fcn
from whyconv.networks.pooling import ConvPool
from whyconv.spec import build
from whyconv.tasks.noise_laws import laplace, noise_law
from whyconv.trial import Trial
from whyconv.views import Thresholds

FILE = '''
import jax.numpy as jnp
from whyconv.learners.losses import loss
from whyconv.networks.activations import activation
from whyconv.networks.poolings import pooling
from whyconv.tasks.noise_laws import noise_law, radial_law


@loss("own-loss")
def ramp(f, y, factor={factor}):
    """A multiple of (y - f)^2."""
    return factor * (y - f) ** 2


@activation("own-activation")
def bent(z, leak):
    """z, and leak * z below zero."""
    return jnp.where(z > 0, z, leak * z)


@pooling("own-pooling")
def spread(z):
    """The largest minus the smallest."""
    return z.max(axis=0) - z.min(axis=0)


@radial_law("own-radial")
def root(u):
    """The square root of u."""
    return u**0.5


@noise_law("own-noise")
def coin(u):
    """-1 or 1."""
    return jnp.where(u > 0, 1.0, -1.0)
'''
SMALL = {"name": "detection", "positions": 3, "pattern_dim": 6, "patterns": 6}
POOLED = {"name": "conv-pool", "channels": 4}
SQUARED = {"name": "gradient", "loss": "squared", "epochs": 4}
OWN = {**SQUARED, "loss": "own-loss"}
SIGNAL = {"name": "signal", "patches": 3, "patch_dim": 2, "sigma": 0.3}


@pytest.fixture(autouse=True)
def nothing_stays():
    registry.pieces("task")
    before = dict(registry._pieces)
    yield
    registry._pieces.clear()
    registry._pieces.update(before)


@pytest.fixture
def load(tmp_path):
    def loaded(factor=1.0, text=FILE):
        file = tmp_path / "mine.py"
        file.write_text(text.format(factor=factor) + f"# {tmp_path}\n")
        registry.load(file)
        return file

    return loaded


def trial(task=SMALL, network=POOLED, learner=SQUARED, m=20, **more):
    return Trial(task=task, network=network, learner=learner, m=m, seed=0, test_size=50, **more)


def result(trial):
    return dict(perform(trial, lambda fraction: None, NoCheckpoint())[0])


def test_all_of_them_run_in_workers_and_an_edited_file_is_computed_anew(load, tmp_path):
    settings = {
        "m": [20], "test_size": 50, "task.positions": 3, "task.pattern_dim": 6, "task.patterns": 6,
        "task.noise": 0.1, "task.noise_law": "own-radial",
        "arms.ConvPool.network": {**POOLED, "pooling": "own-pooling"}, "arms.ConvPool.learner": OWN,
        "arms.MLP.network.activation": "own-activation", "arms.MLP.learner.epochs": 2,
    }  # fmt: skip

    def run(file, watch):
        out = {"out": tmp_path / "rows", "workers": 1, "force": True, "watch": watch}
        done = api.run("brutzkus.fig3a", set=settings, seeds=1, load=file, **out)
        assert len(done.table) == 4

    def planned(file):
        """The reasons for new trials, none of which is run."""

        def stop(event):
            raise Stopped(event.new_by_reason)

        with pytest.raises(Stopped) as stopped:
            run(file, stop)
        return stopped.value.args[0]

    class Stopped(Exception):
        pass

    file = load()
    assert planned(file) == {"never run": 4}
    run(file, lambda event: None)
    assert planned(load()) == {}
    reasons = planned(load(factor=3.0))
    assert sum(reasons.values()) == 4
    assert all("the file of radial law own-radial changed" in reason for reason in reasons)
    for name in ("loss own-loss", "pooling own-pooling", "activation own-activation"):
        assert sum(f"the file of {name} changed" in reason for reason in reasons) == 1


def test_only_functions_that_are_not_ours_are_part_of_the_identity(load):
    plain = {"task detection", "network conv-pool", "learner gradient", "trial"}
    file = load()
    assert set(trial().versions) == plain
    own = trial(learner=OWN)
    assert own.versions["loss own-loss"] == f"1+{registry.file_digest(file)}" and set(own.versions) > plain
    assert trial(network={"name": "mlp", "activation": "own-activation"}).versions.keys() >= {
        "activation own-activation"
    }
    assert "pooling own-pooling" in trial(network={**POOLED, "pooling": "own-pooling"}).versions
    assert "radial law own-radial" in trial(task={**SMALL, "noise_law": "own-radial"}).versions
    before, ours = own.key, trial().key
    load(factor=2.0)
    assert trial(learner=OWN).key != before and trial().key == ours
    assert trial(learner=OWN).stem == own.stem


def test_a_version_of_another_package_is_part_of_the_identity():
    def strange(f, y):
        "Somebody's."
        return f - y

    strange.__module__ = "somebody.losses"
    added = Named("loss", "strange", strange, ("f", "y"))
    added.version, added.companions = 3, {"several": False, "unbounded": False}
    registry.add(added)
    assert trial(learner={**SQUARED, "loss": "strange"}).versions["loss strange"] == "3"


def test_an_edited_function_is_not_served_from_what_was_compiled_before(load):
    load(factor=1.0)
    before = result(trial(learner=OWN))
    assert before["train_loss"] == result(trial())["train_loss"], "the same loss by another name"
    load(factor=2.0)
    assert result(trial(learner=OWN))["train_loss"] == pytest.approx(2 * before["train_loss"], rel=0.2)


def test_a_function_gets_the_settings_that_it_names(load):
    load()
    z = jnp.array([[-2.0], [3.0]])
    leaky = build("network", {"name": "mlp", "leak": 0.25, "activation": "own-activation"})
    params = {"w": jnp.ones((1, 1)), "a": jnp.ones(1)}
    np.testing.assert_array_equal(leaky.apply(params, z), [-0.5, 3.0])
    clipped = build("network", {"name": "cnn", "cap": 2.0})
    np.testing.assert_array_equal(clipped.sigma(z), [[0.0], [2.0]])
    with pytest.raises(
        UserError, match="takes leak, which is not a setting here; choose one of clipped-relu, erf,"
    ):
        build("network", {"name": "cnn", "activation": "own-activation"})
    with pytest.raises(
        UserError, match="takes sharpness, which is not a setting here; choose one of average, max,"
    ):
        build("network", {"name": "deep-cnn", "pooling": "soft"})


def test_an_unknown_name_is_one_sentence_with_the_known_ones(load, tmp_path):
    file = load()
    code = "from whyconv.cli.main import main; main()"
    words = ["run", "brutzkus.fig3a", "--load", file, "--out", "rows"]
    words += ["--set", "arms.ConvPool.learner.loss=hinje"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and not (tmp_path / "rows").exists()
    assert done.stderr.endswith(
        "loss = 'hinje' was given, but there is no loss of that name; choose one of correlation, "
        "cross-entropy, hinge, logistic, own-loss, squared.\n"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("@loss('own')\ndef own(f):\n    'L.'\n", r"takes \(f\), but must take \(f, y\)"),
        ("@loss('own')\ndef own(f, y, rate):\n    'L.'\n", "takes rate besides f and y; give a default"),
        ("@loss('own')\ndef own(f, y):\n    return f\n", "lacks a docstring"),
        ("@loss('hinge')\ndef own(f, y):\n    'L.'\n", "has the name of one in whyconv.learners.losses"),
        ("@loss('my own')\ndef own(f, y):\n    'L.'\n", "a name is one printable word"),
    ],
)
def test_a_function_that_cannot_be_one_is_refused(load, text, sentence):
    with pytest.raises(UserError, match=sentence):
        load(text="from whyconv.learners.losses import loss\n\n\n" + text)
    assert registry.known("loss", "own") is None


def test_losses_and_learners_that_do_not_go_together_are_refused():
    for learner in ("gradient", "projected"):
        with pytest.raises(ValueError, match="cross-entropy was given for a network of 1 outputs"):
            trial(learner={"name": learner, "loss": "cross-entropy"})
    with pytest.raises(ValueError, match="correlation was given, which has no minimum"):
        trial(learner={**SQUARED, "loss": "correlation"})


def test_a_noise_law_alone_is_sampled_and_its_risk_is_that_of_the_test_examples(load):
    load()
    task = build("task", {**SIGNAL, "noise_law": "own-noise"})
    x = np.asarray(task.examples(*_streams(), jnp.arange(200)).x)
    assert np.isclose(np.abs(x), 0.3).sum() == 200 * 2 * 2, "two patches of three hold noise alone"
    learner = {"name": "projected", "rates": [0.1], "bias_rates": [0.01], "steps": 5}
    row = result(trial(task=task, network="lsa-cnn", learner=learner, risk=True))
    assert row["risk"] > 0 and "alignment" in row
    with pytest.raises(
        UserError, match=r"noise law own-noise has no characteristic.*@noise_law\('own-noise', ch"
    ):
        task.oracle()
    with pytest.raises(UserError, match="has no log_density"):
        task.posterior(_streams()[0], x)
    drawn, _ = simulate(task.law(), 50, 0)
    assert np.isclose(np.abs(drawn), 0.3).sum() == 50 * 2 * 2


def test_a_noise_law_with_its_characteristic_function_has_an_exact_risk():
    @noise_law("own-laplace", characteristic=lambda v, t: 1 / (1 + (v * t) ** 2 / 2))
    def again(u):
        "Laplace's law."
        return laplace(u)

    own, ours = (build("task", {**SIGNAL, "noise_law": name}) for name in ("own-laplace", "laplace"))
    np.testing.assert_allclose(own.oracle(), ours.oracle(), rtol=1e-6)
    view = Thresholds(np.tile([0.5, -0.3], (3, 1, 1)), 0.1)
    risks = [task.facts(_streams()[0], view, exact=False, risk=True)["risk"] for task in (own, ours)]
    assert risks[0] == pytest.approx(risks[1], rel=1e-6)


def test_a_pooling_of_ones_own_sees_whole_blocks_and_shorter_ones_at_the_edge(load):
    load()
    h = np.random.default_rng(0).normal(size=(5, 4, 3, 2)).astype(np.float32)
    spread = registry.find("pooling", "own-pooling").function
    found = np.asarray(pooled(h, 3, "own-pooling", spread))
    assert found.shape == (2, 2, 3, 2)
    for i, rows in enumerate((slice(0, 3), slice(3, 5))):
        for j, columns in enumerate((slice(0, 3), slice(3, 4))):
            block = h[rows, columns]
            np.testing.assert_array_equal(found[i, j], block.max(axis=(0, 1)) - block.min(axis=(0, 1)))
    for name in ("max", "average"):
        function = registry.find("pooling", name).function
        np.testing.assert_allclose(pooled(h, 3, "another", function), pooled(h, 3, name, function), rtol=1e-5)
    network = DeepCNN(pool=2, pooling="own-pooling")
    with pytest.raises(UserError, match="pooling = own-pooling was given, but ReLUs can express"):
        as_deep_fcn(network, {}, (8, 8, 1))
    assert ConvPool(pooling="own-pooling").view({}, (3, 4)) is None, "nothing is known of it"


def test_the_exact_engines_know_an_activation_by_its_companion(load):
    load()
    with pytest.raises(
        UserError, match=r"own-activation has no exact.*@activation\('own-activation', exact="
    ):
        exact.coefficient("own-activation", [1.0, -1.0], 0.0, [0])

    @activation("own-abs", exact=piecewise_linear([(0, 0)], left=-1, right=1))
    def absolute(z):
        "|z|."
        return abs(z)

    weights = [0.75, -0.5, 0.25]
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1)
    want = np.mean(np.abs(np.asarray(weights) @ signs + 0.1) * signs[0] * signs[1])
    assert exact.coefficient("own-abs", weights, 0.1, [0, 1]).value == pytest.approx(want, abs=1e-12)


def test_list_explains_a_function():
    from whyconv.cli import listing

    told = listing.text(listing.one("leaky-relu"))
    assert told.startswith("activation leaky-relu\n") and "Can be given as activation of mlp." in told
    assert listing.one("mlp")["settings"]["activation"]["allowed"] == "erf, leaky-relu, relu, sigmoid, tanh"
    assert [each["name"] for each in registry.everything()["radial laws"]] == ["ball", "sphere"]


def _streams():
    from whyconv.streams import stream

    return stream("world", 0), stream("train", 0)
