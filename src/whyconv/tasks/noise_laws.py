"""Laws of noise, as quantile functions.

A *noise law* gives a coordinate of mean 0 and variance 1 from u, uniform on (-1, 1); a *radial law* gives the
length of a vector, whose direction is uniform, from u, uniform on (0, 1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from whyconv.functions import Choice, Plain, adding
from whyconv.lazy import jax, jnp, np

NoiseLaw = Annotated[str, Choice("noise law")]
RadialLaw = Annotated[str, Choice("radial law")]
GAUSSIAN = "gaussian"
"""The law with its own closed forms."""
Formula = Callable[..., Any]


def noise_law(
    name: str,
    *,
    characteristic: Formula | None = None,
    envelope: Formula | None = None,
    log_density: Formula | None = None,
    draw: Formula | None = None,
    version: int = 1,
) -> Callable[[Plain], Plain]:
    """Add ``function(u)`` as the law of independent coordinates eps, u uniform on (-1, 1); JAX arrays.

    The law must have mean 0 and variance 1. Exact computations also assume that it is symmetric, and need
    further functions of NumPy's float64 arrays, each of them optional:

    - ``characteristic(v, t)`` = E exp(i t v eps). Without it no exact risk is computed: the risk of a trial
      is estimated on its test examples, and ``Signal.oracle``, which sets the targets of the studies of
      sample complexity, refuses the law. ``envelope(v, t)`` bounds its absolute value from t on, which saves
      time if it decays fast.
    - ``log_density(u, slack)``; ``slack`` is the uncertainty of u, which matters where the density jumps.
      Without it ``Signal.posterior`` and ``Signal.bayes_risk`` refuse the law.
    - ``draw(rng, shape)`` from a NumPy generator, for :func:`whyconv.exact.signal.law.simulate`; by default
      the quantile function of uniform numbers.
    """
    companions = {
        "characteristic": characteristic, "envelope": envelope, "log_density": log_density, "draw": draw,
    }  # fmt: skip
    return adding("noise law", name, "u", version=version, companions=companions)


def radial_law(name: str, *, version: int = 1) -> Callable[[Plain], Plain]:
    """Add ``function(u)`` as the law of the length of noise, in units of ``noise``; u uniform on (0, 1)."""
    return adding("radial law", name, "u", version=version)


@noise_law(
    GAUSSIAN,
    log_density=lambda u, slack: -(u**2) / 2 - np.log(2 * np.pi) / 2,
    characteristic=lambda v, t: np.exp(-((v * t) ** 2) / 2),
    draw=lambda rng, shape: rng.normal(size=shape),
)
def gaussian(u: jax.Array) -> jax.Array:
    """N(0, 1): sqrt(2) erf^-1(u)."""
    return 2**0.5 * jax.lax.erf_inv(u)


@noise_law(
    "uniform",
    log_density=lambda u, slack: np.where(np.abs(u) <= 3**0.5 + slack, -np.log(2 * 3**0.5), -np.inf),
    characteristic=lambda v, t: np.sinc(3**0.5 * v * t / np.pi),
    envelope=lambda v, t: 1 / np.maximum(1, 3**0.5 * v * t),
    draw=lambda rng, shape: rng.uniform(-(3**0.5), 3**0.5, shape),
)
def uniform(u: jax.Array) -> jax.Array:
    """Uniform on [-sqrt(3), sqrt(3)]: sqrt(3) u."""
    return 3**0.5 * u


@noise_law(
    "laplace",
    log_density=lambda u, slack: -(2**0.5) * np.abs(u) - np.log(2) / 2,
    characteristic=lambda v, t: 1 / (1 + (v * t) ** 2 / 2),
    envelope=lambda v, t: 1 / (1 + (v * t) ** 2 / 2),
    draw=lambda rng, shape: rng.laplace(0, 0.5**0.5, shape),
)
def laplace(u: jax.Array) -> jax.Array:
    """Density exp(-sqrt(2) |eps|) / sqrt(2): -sign(u) log(1 - |u|) / sqrt(2)."""
    return -jnp.sign(u) * jnp.log1p(-jnp.abs(u)) / 2**0.5


@radial_law("ball")
def ball(u: jax.Array, pattern_dim: int) -> jax.Array:
    """Uniform in the ball: u^(1/d), ``pattern_dim`` = d."""
    return u ** (1 / pattern_dim)


@radial_law("sphere")
def sphere(u: jax.Array) -> float:
    """Uniform on the sphere: 1."""
    return 1.0
