"""Asks a study for its plan, only when the plan may have changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from whyconv.studies import good

if TYPE_CHECKING:
    from whyconv.studies import Point, Study
    from whyconv.trial import Row, Trial


class Planner:
    """The plan of a study, reused if it was made without reading rows (100,000 trials take seconds)."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._fixed: list[Point] | None = None

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """The plan given these rows; failed ones are hidden from the study."""
        if self._fixed is not None:
            return self._fixed
        shown = _Shown(good(rows))
        points = self._study.plan(shown)
        if not shown.seen:
            self._fixed = points
        return points

    def ahead(self, points: list[Point], rows: Mapping[str, Row]) -> list[Trial]:
        """The trials without a row that are planned or, in an adaptive study, expected."""
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

    def __getitem__(self, key: str) -> Row:
        self.seen = True
        return self._rows[key]

    def __iter__(self) -> Iterator[str]:
        self.seen = True
        return iter(self._rows)

    def __len__(self) -> int:
        self.seen = True
        return len(self._rows)
