"""Why a trial has to be run, so that no rerun comes as a surprise."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Set, Sized
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyconv.trial import Row, Trial

NEVER = "never run"
SETTINGS = "the settings changed"
RETRIED = "failed before and tried again"
DAMAGED = "the stored row was damaged"
ELSEWHERE = "computed in another environment"


class Reasons:
    """Says why trials have no row, given the rows that existed when the run began.

    ``other_settings``: the store has this study with other settings only, which then explain a new trial.
    """

    def __init__(
        self,
        rows: Iterable[Row],
        failed: Set[str],
        damaged: Set[str],
        other_settings: bool,
        elsewhere: Set[str] = frozenset(),
    ) -> None:
        self._failed, self._damaged, self._elsewhere = failed, damaged, elsewhere
        self._otherwise = SETTINGS if other_settings else NEVER
        by_stem: defaultdict[str, list[Row]] = defaultdict(list)
        for row in rows:
            by_stem[row.stem].append(row)
        self._by_stem: dict[str, list[Row]] = by_stem

    def forget(self, planned: Container[str]) -> None:
        """Forget the rows of planned trials, which explain no other one: a stem is planned once."""
        others = (
            (stem, [row for row in rows if row.key not in planned]) for stem, rows in self._by_stem.items()
        )
        self._by_stem = {stem: rows for stem, rows in others if rows}

    def count(self, trials: Iterable[Trial]) -> dict[str, int]:
        """The number of trials per reason, the most frequent first."""
        if not (self._damaged or self._failed or self._elsewhere or self._by_stem):
            number = len(trials) if isinstance(trials, Sized) else sum(1 for _ in trials)
            return {self._otherwise: number} if number else {}
        return dict(Counter(self.reason(trial) for trial in trials).most_common())

    def reason(self, trial: Trial) -> str:
        if trial.key in self._damaged:
            return DAMAGED
        if trial.key in self._failed:
            return RETRIED
        if trial.key in self._elsewhere:
            return ELSEWHERE
        older = self._by_stem.get(trial.stem) if self._by_stem else None
        if not older:
            return self._otherwise
        nearest = min((_differences(trial.versions, row.versions) for row in older), key=len)
        return ", ".join(nearest)


def _differences(now: Mapping[str, str], then: Mapping[str, str]) -> list[str]:
    return [
        _difference(name, now.get(name), then.get(name))
        for name in sorted({*now, *then})
        if now.get(name) != then.get(name)
    ]


def _difference(name: str, now: str | None, then: str | None) -> str:
    """Versions are numbers, followed by a digest if the piece comes from the user's own file."""
    if name == "data":
        return "the data files changed"
    number, _, file = (now or "0").partition("+")
    old_number, _, old_file = (then or "0").partition("+")
    if number == old_number and file != old_file:
        return f"the file of {name} changed"
    return f"{name} is now version {number} (rows have {old_number})"
