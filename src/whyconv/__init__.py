"""What are locality, weight sharing and max-pooling worth, in samples and in compute?

>>> import whyconv
>>> r = whyconv.run("brutzkus.fig3a", preset="quick")  # doctest: +SKIP
>>> r.table, r.figure(), r.verdict  # doctest: +SKIP
>>> whyconv.check("brutzkus")  # doctest: +SKIP
"""

from whyconv.api import check, open_runs, run
from whyconv.api import everything as list
from whyconv.errors import UserError
from whyconv.notebook import Run
from whyconv.registry import load
from whyconv.sampling import sample

__version__ = "0.1.0"

__all__ = ["Run", "UserError", "__version__", "check", "list", "load", "open_runs", "run", "sample"]
