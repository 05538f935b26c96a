"""What are locality, weight sharing and max-pooling worth, in samples and in compute?

>>> import whyconv
>>> r = whyconv.run("brutzkus.fig3a", preset="quick")  # doctest: +SKIP
>>> r.table, r.figure(), r.verdict  # doctest: +SKIP
>>> whyconv.check("brutzkus")  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whyconv.errors import UserError

if TYPE_CHECKING:
    from whyconv.api import audit, check, open_runs, run
    from whyconv.api import everything as list
    from whyconv.auditing.estimators import ConvClassifier, ConvRegressor, load_estimator
    from whyconv.notebook import Run
    from whyconv.registry import load
    from whyconv.sampling import sample

__version__ = "0.1.0"

__all__ = [
    "ConvClassifier",
    "ConvRegressor",
    "Run",
    "UserError",
    "__version__",
    "audit",
    "check",
    "list",
    "load",
    "load_estimator",
    "open_runs",
    "run",
    "sample",
]

_LATER = {
    **{name: ("whyconv.api", name) for name in ("audit", "check", "open_runs", "run")},
    "list": ("whyconv.api", "everything"),
    "Run": ("whyconv.notebook", "Run"),
    "load": ("whyconv.registry", "load"),
    "sample": ("whyconv.sampling", "sample"),
    **{
        name: ("whyconv.auditing.estimators", name)
        for name in ("ConvClassifier", "ConvRegressor", "load_estimator")
    },
}
"""Imported at first use: most programs need one of them, and scikit-learn is not needed by all."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LATER[name]
    return getattr(import_module(module), attribute)


def __dir__() -> Any:
    return sorted({*globals(), *__all__})
