"""Programs compiled in less time; what they compute is kept by the golden rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from whyconv import compiling
from whyconv.compiling import BRIEF, QUICK, brief, quick


def descends(key):
    """Products, a reduction, a sort, and a loop with divisions and roots."""
    x = jax.random.normal(key, (40, 17))

    def step(_, w):
        grad = x.T @ (jax.nn.softplus(x @ w) - 0.3)
        return w - 0.01 * grad / jnp.sqrt(1e-6 + grad**2)

    w = jax.lax.fori_loop(0, 25, step, x[0])
    return x, w, jnp.linalg.norm(w), jnp.argsort(w)


@pytest.mark.parametrize("compiled", [brief, quick])
def test_programs_compute_what_those_compiled_as_usual_do(compiled):
    key = jax.random.key(3)
    for ours, usual in zip(compiled(descends)(key), jax.jit(descends)(key), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(usual), rtol=1e-4)


def test_this_compiler_knows_the_options():
    assert compiling._here(QUICK) == QUICK and compiling._here(BRIEF) == BRIEF


def test_options_that_a_compiler_does_not_know_are_left_out():
    unknown = {"xla_cpu_no_such_option": True}
    assert compiling._here(unknown) == {}
    assert jax.jit(lambda x: 3 * x, compiler_options=compiling._here(unknown))(2) == 6


def test_a_static_argument_may_be_a_shape():
    assert quick(jax.random.normal, static=1)(jax.random.key(0), (2, 3)).shape == (2, 3)
