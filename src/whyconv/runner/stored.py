"""The rows of a long run, read from its store when somebody looks at them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from whyconv.runner.store import Store

if TYPE_CHECKING:
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
