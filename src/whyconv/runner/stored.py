"""The rows of a long run: on disk, read when somebody looks at them; two bytes of each in memory."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from whyconv.lazy import np
from whyconv.runner.store import Store
from whyconv.studies.lazily import ByKey, Part
from whyconv.trial import Row


class Stored(Mapping[str, "Row"]):
    """The rows in a folder whose keys are ``wanted``; all are read at the first look."""

    def __init__(self, folder: Path, wanted: Container[str]) -> None:
        self._folder, self._wanted = folder.absolute(), wanted

    @cached_property
    def _rows(self) -> dict[str, Row]:
        with Store.read(self._folder) as store:
            return {key: row for key, row in store.rows().items() if key in self._wanted}

    def __getitem__(self, key: str) -> Row:
        return self._rows[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class Remembered(Mapping[str, Row]):
    """What a long run remembers of rows on disk: status and environment, in two bytes for a planned trial.

    Looked up, a row has nothing else. Rows of trials that are not planned are remembered by key.
    """

    def __init__(self, points: ByKey, rows: Mapping[str, Row]) -> None:
        self._points = points
        self._kinds: list[Row] = []
        self._known: dict[tuple[str, str], int] = {}
        """The codes of kinds, by status and environment."""
        self._codes = np.zeros(len(points.plan), np.uint16)
        """For the number of a point: 0, or which kind its row is, from 1 on."""
        self._others: dict[str, int] = {}
        self._planned = 0
        for key, row in rows.items():
            self[key] = row

    def __setitem__(self, key: str, row: Row) -> None:
        code, number = self._kind(row), self._points.plan.keys.place(key)
        if number is None:
            self._others[key] = code
        else:
            self._planned += not self._codes[number]
            self._codes[number] = code

    def _kind(self, row: Row) -> int:
        kind = row.status, row.environment
        if kind not in self._known:
            self._kinds.append(Row("", "", {}, {}, row.status, environment=row.environment))
            self._known[kind] = len(self._kinds)
            if len(self._kinds) > np.iinfo(self._codes.dtype).max:
                self._codes = self._codes.astype(np.uint32)
        return self._known[kind]

    def missing(self) -> Part:
        """The planned points that have no row, found without a look at their keys."""
        firsts = np.fromiter(self._points.firsts, np.uintc, len(self._points))
        return Part(self._points.plan, array("I", firsts[self._codes[firsts] == 0].tobytes()))

    def _code(self, key: object) -> int:
        number = self._points.plan.keys.place(key)
        return self._others.get(str(key), 0) if number is None else int(self._codes[number])

    def __getitem__(self, key: str) -> Row:
        if not (code := self._code(key)):
            raise KeyError(key)
        return self._kinds[code - 1]

    def __contains__(self, key: object) -> bool:
        return bool(self._code(key))

    def __iter__(self) -> Iterator[str]:
        keys = self._points.plan.keys
        yield from (keys[int(number)] for number in np.flatnonzero(self._codes))
        yield from self._others

    def __len__(self) -> int:
        return self._planned + len(self._others)
