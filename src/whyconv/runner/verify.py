"""Checks everything in a store for damage."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from whyconv.runner import journal
from whyconv.runner.store import Store


@dataclass(frozen=True)
class Findings:
    """``problems`` and ``remarks`` in sentences, and the number of intact records by table."""

    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    intact: Mapping[str, int]
    listed: bool = True
    """Whether there is a list of acknowledged rows."""


def verify(folder: str | Path) -> Findings:
    """Check all records against their digests and the list of acknowledged rows, and the file by SQLite's own
    check. Changes nothing.
    """
    with Store.read(folder) as store:
        found = store.contents()
    intact = {table: len(records) for table, records in found.records.items()}
    listed = os.path.lexists(Path(folder) / journal.FILE)
    return Findings(found.sentences(), tuple(found.remarks()), intact, listed)
