"""Our AdaDelta is Optax's, written otherwise."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from whyconv.learners._adadelta import adadelta
from whyconv.learners._optimisers import transformation


def trained(rule, params, gradients):
    state = rule.init(params)
    for gradient in gradients:
        step, state = rule.update(gradient, state, params)
        params = optax.apply_updates(params, step)
    return params


@pytest.mark.parametrize("options", [{}, {"rho": 0.95, "eps": 1e-7}])
def test_it_is_optaxs_to_rounding(options):
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        start = {"w": jnp.asarray(rng.normal(size=(5, 3))), "b": jnp.zeros(3)}
        gradients = [
            jax.tree.map(lambda part: jnp.asarray(rng.normal(size=part.shape)), start) for _ in range(30)
        ]
        ours, theirs = (
            trained(rule(0.7, **options), start, gradients) for rule in (adadelta, optax.adadelta)
        )
        for mine, other, before in zip(*map(jax.tree.leaves, (ours, theirs, start)), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-10)
            assert not np.allclose(mine, before)


def test_it_is_used_unless_options_ask_for_more():
    def states(**options):
        made = transformation("adadelta", 1.0, options)
        return type(made.init(jnp.zeros(2)).inner_state).__name__

    assert states(rho=0.95, eps=1e-7) == "Averages"
    assert states(weight_decay=0.1) != "Averages"
