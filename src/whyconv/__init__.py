"""What are locality, weight sharing and max-pooling worth, in samples and in compute?

>>> import whyconv
>>> r = whyconv.run("brutzkus.fig3a", preset="quick")  # doctest: +SKIP
>>> r.table, r.figure(), r.verdict  # doctest: +SKIP
>>> whyconv.check("brutzkus")  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whyconv.api import audit, check, open_runs, run
from whyconv.api import everything as list
from whyconv.errors import UserError
from whyconv.notebook import Run
from whyconv.registry import load
from whyconv.sampling import sample

if TYPE_CHECKING:
    from whyconv.auditing.estimators import ConvClassifier, ConvRegressor, load_estimator

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

_LATER = dict.fromkeys(("ConvClassifier", "ConvRegressor", "load_estimator"), "whyconv.auditing.estimators")
"""Imported at first use, since they need scikit-learn."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> Any:
    return sorted({*globals(), *__all__})
