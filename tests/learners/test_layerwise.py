"""LW_CNN against the independent float64 NumPy route of :mod:`whyconv.exact`, and its conditions."""

import jax
import numpy as np
import pytest
from training import fit_of, job_of

from whyconv.learners import Job
from whyconv.learners.layerwise import Layerwise
from whyconv.networks.dense import MLP
from whyconv.networks.pooling import ConvPool
from whyconv.papers.brutzkus.exact.first_layer import Schedule, descend_on_inputs
from whyconv.papers.brutzkus.exact.second_layer import descend
from whyconv.papers.brutzkus.studies.layerwise import theorem_start
from whyconv.tasks.detection import Detection
from whyconv.trial import Trial


def test_both_layers_follow_the_numpy_route():
    k, steps = 30, 5
    start = ConvPool(**{key: value for key, value in theorem_start(k, steps).items() if key != "name"})
    learner = Layerwise(first_steps=steps, second_steps=40, tolerance=0.0)
    task = Detection(positions=4, pattern_dim=5, patterns=5)
    spec = Trial(task=task, network=start, learner=learner, m=41, seed=0, dtype="float64")
    with jax.enable_x64(True):
        job = job_of(spec)
        fit = fit_of(spec, job)
        begin = start.init(job.init, task.shape)
        x, y = np.asarray(job.sample.x[:41], np.float64), np.asarray(job.sample.y[:41])
    eta_1, eta_2 = learner.rates(k)
    assert eta_1 == 1 / (4 * k * (steps + 1)) and eta_2 < 8 * k
    schedule = Schedule(k, steps, eta_1, start.radius)
    a = np.asarray(begin["a"])
    filters = descend_on_inputs(x[:21], y[:21].astype(int), np.asarray(begin["w"]).T, a, schedule)[-1]
    np.testing.assert_allclose(np.asarray(fit.params["w"]).T, filters, rtol=1e-9, atol=1e-15)
    z = np.maximum(x[21:] @ filters.T, 0).max(axis=1)
    rows = y[21:, None] * z
    readout = descend(rows, np.full(20, 1 / 20), a, eta_2, [40])[-1]
    np.testing.assert_allclose(fit.params["a"], readout, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(
    ("network", "learner", "broken"),
    [
        ({}, {}, {"wide"}),
        ({"radius": 1.0}, {}, {"wide", "radius_small"}),
        ({}, {"first_rate": 1.0}, {"wide", "first_rate_small"}),
        ({}, {"second_rate": 1e9}, {"wide", "second_rate_small"}),
        ({"channels": 8 * 27 + 1}, {}, set()),
        ({"channels": 8 * 27}, {}, {"wide"}),
    ],
)
def test_the_conditions_of_the_theorem_are_reported(network, learner, broken):
    channels = network.get("channels", 50)
    fields = {**theorem_start(channels, 20), **network}
    del fields["name"]
    chosen = ConvPool(**fields)
    y = np.array([1.0, -1.0] * 10)
    sample = type("Sample", (), {"x": np.zeros((20, 2, 3)), "y": y})()
    conditions = Layerwise(**learner).conditions(chosen, Job(chosen, sample, 20, None, None))
    assert {name for name, met in conditions.items() if not met} == broken


def test_unbalanced_classes_are_reported():
    chosen = ConvPool(channels=20, init_law="sphere", radius=1e-9)
    sample = type("Sample", (), {"x": np.zeros((20, 2, 3)), "y": np.array([1.0] * 8 + [-1.0] * 12)})()
    assert not Layerwise().conditions(chosen, Job(chosen, sample, 20, None, None))["classes_balanced"]


def test_it_trains_conv_pool_only_and_needs_two_examples(execute):
    with pytest.raises(ValueError, match="conv-pool only"):
        Trial(task="detection", network=MLP(width=2), learner="layerwise", m=4, seed=0)
    with pytest.raises(ValueError, match="m >= 2"):
        execute(task="detection", network="conv-pool", learner="layerwise", m=1, seed=0)
