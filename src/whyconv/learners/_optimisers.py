"""Optax's optimisers by name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from whyconv.lazy import optax
from whyconv.learners._adadelta import adadelta

ELEMENTWISE = frozenset(
    ["sgd", "adam", "adagrad", "adadelta", "adamax", "amsgrad", "nadam", "rmsprop", "rprop"]
)
"""Optimisers that treat every parameter separately, so that equal filters stay equal."""


def known(name: str) -> bool:
    """Whether Optax has a function of this name that takes a learning rate.

    Those named above are in every Optax; checking another name imports it, which takes a second.
    """
    if name in ELEMENTWISE:
        return True
    make = getattr(optax, name, None)
    return inspect.isfunction(make) and "learning_rate" in inspect.signature(make).parameters


def transformation(name: str, rate: float, options: Mapping[str, float]) -> optax.GradientTransformation:
    """The optimiser with its rate in its state, so that rates share their compiled programs."""
    ours = name == "adadelta" and set(options) <= {"rho", "eps"}
    make = adadelta if ours else getattr(optax, name)
    try:
        made = make(rate, **options)
    except TypeError as error:
        raise ValueError(f"optimiser {name} does not take {dict(options)}: {error}") from None
    if not isinstance(made, optax.GradientTransformation):
        raise ValueError(f"optax.{name} is not an optimiser; take one such as adam, sgd, rmsprop or adadelta")
    return optax.inject_hyperparams(make, static_args=tuple(options))(rate, **options)
