"""Asks a study for its plan, only when the plan may have changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from whyconv.studies import Study, good
from whyconv.studies.lazily import CellPlan, Trials

if TYPE_CHECKING:
    from whyconv.studies import Point
    from whyconv.trial import Row, Trial

LAZY_ABOVE = 5000
"""Trials in a plan of cells that stays lazy."""


class Planner:
    """The plan of a study, reused if it was made from the same rows or without reading any.

    A long plan of cells, which reads no rows, stays lazy (:mod:`whyconv.studies.lazily`): a million trials
    take seconds and 40 bytes each.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._points: Sequence[Point] = []
        self._made_from: frozenset[str] | None = None
        """The keys of the rows that the latest plan was made from; None: there is no plan yet."""
        self._fixed = False
        if type(study).plan is Study.plan and sum(len(cell.seeds) for cell in study.cells()) > LAZY_ABOVE:
            self._points, self._fixed = CellPlan(study.cells()), True

    def plan(self, rows: Mapping[str, Row]) -> Sequence[Point]:
        """The plan given these rows; failed ones are hidden from the study."""
        if self._fixed:
            return self._points
        shown = _Shown(good(rows))
        keys = shown.keys_unseen
        if keys != self._made_from:
            self._points, self._made_from = self._study.plan(shown), keys
            self._fixed = not shown.seen
        return self._points

    def ahead(self, points: Sequence[Point], rows: Mapping[str, Row]) -> Sequence[Trial]:
        """The trials without a row that are planned or, in an adaptive study, expected."""
        if isinstance(points, CellPlan):
            return Trials(points.by_key.without(rows))
        trials = [*(point.trial for point in points), *self.outlook]
        return [trial for trial in trials if trial.key not in rows]

    @cached_property
    def outlook(self) -> tuple[Trial, ...]:
        """The trials that an adaptive study is likely to plan in all; none for another one."""
        likely = self._study.outlook() if self._study.adaptive else []
        return tuple({trial.key: trial for trial in likely}.values())


class _Shown(Mapping[str, "Row"]):
    """Rows that record whether they were read."""

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self._rows, self.seen = rows, False
        self.keys_unseen = frozenset(rows)

    def __getitem__(self, key: str) -> Row:
        self.seen = True
        return self._rows[key]

    def __iter__(self) -> Iterator[str]:
        self.seen = True
        return iter(self._rows)

    def __len__(self) -> int:
        self.seen = True
        return len(self._rows)
