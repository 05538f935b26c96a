"""What ``whyconv.audit`` returns: the result, with what a notebook does with it."""

from __future__ import annotations

import math
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyconv.auditing.bad_data import BadData
from whyconv.auditing.result import Forecast, Order, Result, Saving
from whyconv.auditing.rounds import FEWEST
from whyconv.auditing.study import Audit
from whyconv.lazy import pd

if TYPE_CHECKING:
    from whyconv.auditing.estimators import ConvClassifier, ConvRegressor


class Answer:
    """An audit's result: ``savings, order, curves, best, warnings``, ``more_data(error=.05)``, ``report()``.

    Everything measured is in ``result``; the rows are in the folder ``result.out``.
    """

    def __init__(self, result: Result, study: Audit, *, channels_first: bool = False) -> None:
        self.result, self._study, self._channels_first = result, study, channels_first

    @property
    def savings(self) -> tuple[Saving, ...]:
        """locality, sharing, pooling, together."""
        return self.result.savings

    @property
    def order(self) -> Order:
        """Whether the order of features matters."""
        return self.result.order

    @property
    def curves(self) -> pd.DataFrame:
        """arm, m, error, low, high, rounds: the learning curves."""
        return pd.DataFrame(self.result.curves, columns=["arm", "m", "error", "low", "high", "rounds"])

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.result.warnings

    @property
    def best(self) -> ConvClassifier | ConvRegressor | None:
        """The best arm as an estimator that is not fitted yet; None before there is one.

        It takes the same X and y as the audit, with columns that were named for labels or groups taken out.
        """
        from whyconv.auditing.architecture import settings_of
        from whyconv.auditing.estimators import ConvClassifier, ConvRegressor

        study, model = self._study, self.result.model
        if model is None:
            return None
        settings = settings_of(model.network, model.learner)
        settings |= {"grid": study.task.grid, "scale": study.task.scaling}
        settings["channels_first"] = self._channels_first
        return (ConvClassifier if study.task.labels else ConvRegressor)(**settings)

    def more_data(self, error: float) -> Forecast:
        """How many examples the best arm would need for this error, up to twice as many as there are."""
        if not (isinstance(error, Real) and 0 <= error < math.inf):
            raise BadData(f"an error of {error!s:.40} was given; give a number from 0 up, such as 0.05.")
        if self.result.model is None or self.result.rounds < FEWEST:
            m = 2 * self._study.sizes[-1]
            return Forecast(m, None, None, None, error, None, "too few rounds for a forecast")
        return self.result.model.forecast(error)

    def report(self, path: str | Path) -> Path:
        """Write the page that ``whyconv audit`` writes."""
        return import_module("whyconv.report.audit_page").write(self.result, path)

    def to_json(self) -> dict[str, Any]:
        """The object of ``whyconv audit --json``, as a dictionary of plain values."""
        return self.result.to_json()

    def _repr_html_(self) -> str:
        """The same page, as a notebook shows it."""
        from html import escape

        page = import_module("whyconv.report.audit_page").render(self.result)
        return f'<iframe srcdoc="{escape(page)}" style="width:100%;height:70em;border:0"></iframe>'

    def __repr__(self) -> str:
        data, lines = self.result.data, []
        lines.append(
            f"{data.name}: {data.examples:,} examples of {'x'.join(map(str, data.shape))}, {data.metric}, "
            f"{self.result.rounds} rounds"
        )
        lines.append(f"order: {self.order.verdict}")
        for each in self.savings:
            ends = [f"{end:.3g}" if end is not None else "open" for end in (each.low, each.high)]
            factor = f" {each.factor:.3g}x" if each.factor is not None else ""
            known = f"{factor} [{', '.join(ends)}]" if each.low or each.high else ""
            lines.append(f"{each.prior}: {each.verdict}{known}{f' ({each.why})' if each.why else ''}")
        lines.append(f"best: {self.result.best or 'not known'}")
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])
