"""Programs compiled in less time compute the same bits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from whyconv import compiling
from whyconv.compiling import BRIEF, QUICK, brief, quick


def draws(key):
    """Random numbers of every law that tasks and networks draw, scaled, permuted and laid out."""
    first, second = jax.random.split(key)
    x = jax.random.normal(first, (40, 6, 5))
    unit = 0.1 * x / jnp.linalg.norm(x, axis=0)
    order = jax.random.permutation(second, 40)
    signs = jax.random.rademacher(second, (40,), float)
    noisy = signs[:, None, None] * unit + 0.3 * jax.random.truncated_normal(second, -2, 2, x.shape)
    return unit, noisy, jnp.swapaxes(noisy[order], 0, 1), jax.random.categorical(first, x[0])


def descends(key):
    """Products, a reduction, a sort, and a loop with divisions and roots."""
    x = jax.random.normal(key, (40, 17))

    def step(_, w):
        grad = x.T @ (jax.nn.softplus(x @ w) - 0.3)
        return w - 0.01 * grad / jnp.sqrt(1e-6 + grad**2)

    w = jax.lax.fori_loop(0, 25, step, x[0])
    return x, w, jnp.linalg.norm(w), jnp.argsort(w)


@pytest.mark.parametrize(("compiled", "function"), [(quick, draws), (brief, draws), (brief, descends)])
def test_the_bits_are_those_of_a_program_compiled_as_usual(compiled, function):
    key = jax.random.key(3)
    for ours, usual in zip(compiled(function)(key), jax.jit(function)(key), strict=True):
        assert np.asarray(ours).tobytes() == np.asarray(usual).tobytes()


def test_this_compiler_knows_the_options():
    assert compiling._here(QUICK) == QUICK and compiling._here(BRIEF) == BRIEF


def test_options_that_a_compiler_does_not_know_are_left_out():
    unknown = {"xla_cpu_no_such_option": True}
    assert compiling._here(unknown) == {}
    assert jax.jit(lambda x: 3 * x, compiler_options=compiling._here(unknown))(2) == 6


def test_a_static_argument_may_be_a_shape():
    assert quick(jax.random.normal, static=1)(jax.random.key(0), (2, 3)).shape == (2, 3)
