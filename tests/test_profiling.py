"""The programs of a study, measured."""

import jax
import jax.numpy as jnp

from whyconv.profiling import kinds, watched
from whyconv.settings import configure


def test_programs_are_told_by_name_and_only_if_they_are_made():
    @jax.jit
    def tripled(x):
        return 3 * x

    argument = jnp.arange(5)
    with watched() as first:
        tripled(argument)
    with watched() as second:
        tripled(argument)
    assert first["tripled"].made == 1 and first["tripled"].seconds > 0
    assert second == {}


def test_one_trial_of_each_kind_is_run():
    trials = configure("brutzkus.fig3a").outlook()
    chosen = kinds(trials)
    assert [trial.program for trial in chosen] == list(dict.fromkeys(trial.program for trial in trials))
    assert chosen[0] == trials[0]
