"""Heavy packages, imported at first use, so that ``whyconv list`` and ``--help`` answer at once.

``from whyconv.lazy import jax, np, special`` reads like the ordinary import. The names must not be used
while a module is being imported (no ``@jax.jit`` at module level). ``NDArray``, ``Floats`` and their
like are for annotations alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    linalg: Any  # SciPy has no type information
    optimize: Any
    special: Any
    stats: Any
    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
else:

    class _Later:
        """Stands for a module and becomes it at the first access to an attribute."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            module = import_module(self._name)
            self.__dict__.update(vars(module))
            return getattr(module, attribute)

    ArrayLike = Flags = Floats = Ints = NDArray = Any
    alt = _Later("altair")
    jax = _Later("jax")
    jnp = _Later("jax.numpy")
    linalg = _Later("scipy.linalg")
    np = _Later("numpy")
    optax = _Later("optax")
    optimize = _Later("scipy.optimize")
    pd = _Later("pandas")
    special = _Later("scipy.special")
    stats = _Later("scipy.stats")

__all__ = [
    "ArrayLike",
    "Flags",
    "Floats",
    "Ints",
    "NDArray",
    "alt",
    "jax",
    "jnp",
    "linalg",
    "np",
    "optax",
    "optimize",
    "pd",
    "special",
    "stats",
]
