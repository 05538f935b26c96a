"""Heavy packages, imported at first use, so that ``whyconv list`` and ``--help`` answer at once.

``from whyconv.lazy import jax, jnp`` reads like the ordinary import. The names must not be used
while a module is being imported (no ``@jax.jit`` at module level).
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
else:

    class _Later:
        """Stands for a module and becomes it at the first access to an attribute."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            module = import_module(self._name)
            self.__dict__.update(vars(module))
            return getattr(module, attribute)

    alt = _Later("altair")
    jax = _Later("jax")
    jnp = _Later("jax.numpy")
    np = _Later("numpy")
    optax = _Later("optax")
    pd = _Later("pandas")

__all__ = ["alt", "jax", "jnp", "np", "optax", "pd"]
