"""Settings that change no shape are arguments of compiled samplers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import monitoring

from whyconv.compiling import quick
from whyconv.execution import BLOCK, blocks
from whyconv.spec import build
from whyconv.streams import stream
from whyconv.tasks.detection import Detection
from whyconv.trial import Trial

WORLD, DRAWS = stream("world", 3), stream("train", 3)
KNOBS = {
    "noise": [{"name": "detection", "noise": value} for value in (1.0, 0.3, 2.5)],
    "coherence": [{"name": "detection", "coherence": value} for value in (0.5, 0.1, 0.9)],
    "both": [{"name": "detection", "noise": 1 - value, "coherence": value} for value in (0.5, 0.3)],
    "label noise": [{"name": "k-pattern", "label_noise": value} for value in (0.5, 0.1)],
    "mean": [{"name": "k-pattern", "law": "biased", "mean": value} for value in (0.5, -0.3)],
    "persistence": [{"name": "k-junta", "law": "markov", "persistence": value} for value in (0.75, 0.2)],
    "target": [{"name": "k-pattern", "target": value} for value in ("parity", "majority", "and")],
    "shift": [{"name": "signal", "shift": value} for value in (1, 7)],
    "place": [{"name": "signal", "place": value} for value in (1, 5)],
}


class Compilations:
    """Counts the programs that JAX compiles while it is entered."""

    def __init__(self):
        self.names = []

    def __enter__(self):
        monitoring.register_event_duration_secs_listener(self._heard)
        return self

    def __exit__(self, *_):
        monitoring.unregister_event_duration_listener(self._heard)

    def _heard(self, event, seconds, **of):
        if event.endswith("backend_compile_duration"):
            self.names.append(of.get("fun_name"))


def one_block(task):
    return next(blocks(task, WORLD, DRAWS, BLOCK, "train"))


def as_alone(task, made):
    """The bytes are those of a program in which all settings are constants, compiled in the same way."""

    def block(world, draws, first):
        return task.examples(world, draws, first + jnp.arange(BLOCK))

    for part, wanted in zip(made, quick(block)(WORLD, DRAWS, 0), strict=True):
        assert np.asarray(part).tobytes() == np.asarray(wanted).tobytes()


@pytest.mark.parametrize("knob", KNOBS)
def test_a_changed_knob_compiles_nothing_and_gives_the_bytes_of_a_program_of_its_own(knob):
    first, *others = [build("task", spec) for spec in KNOBS[knob]]
    as_alone(first, drawn := one_block(first))
    for task in others:
        with Compilations() as compiled:
            made = jax.block_until_ready(one_block(task))
        assert compiled.names == []
        as_alone(task, made)
        assert not all(map(np.array_equal, made, drawn))


@pytest.mark.parametrize("noise", [0.3, 0.7, 1.0])
def test_noise_of_another_law_keeps_its_bytes(noise):
    task = Detection(noise=noise, noise_law="sphere")
    as_alone(task, one_block(task))


def test_what_is_switched_on_is_another_program():
    with Compilations() as compiled:
        for task in (Detection(positions=3), Detection(positions=3, noise=0.1)):
            one_block(task)
    assert len(compiled.names) >= 2


def test_trials_that_differ_in_a_knob_share_their_programs_and_nothing_else():
    def trial(**task):
        return Trial(task={"name": "detection", **task}, network="mlp", learner="gradient", m=5, seed=0)

    assert trial(noise=0.5).program == trial(noise=0.7).program != trial().program
    assert trial(noise=0.5).key != trial(noise=0.7).key


def test_a_users_class_that_inherits_the_split_is_compiled_for_its_own_settings():
    class Louder(Detection):
        origin = "from a file"

        def examples(self, world, draws, index):
            sample = super().examples(world, draws, index)
            return sample._replace(x=sample.x + 100 * self.noise)

    assert float(one_block(Louder(noise=3.0)).x.mean()) == pytest.approx(300, abs=1)


def test_a_copy_with_other_settings_has_numbers_of_its_own():
    task = build("task", {"name": "detection", "coherence": 0.1})
    before = dict(task.numbers)
    copied = task.model_copy(update={"coherence": 0.3})
    assert copied.numbers == build("task", {"name": "detection", "coherence": 0.3}).numbers
    assert task.numbers == before != copied.numbers
