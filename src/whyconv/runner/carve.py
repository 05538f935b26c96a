"""Recovers records from the raw bytes of a damaged database, without using its tables and indexes.

SQLite writes a record as a header (its length, then the type of every column) followed by the columns; what
does not fit into its page continues in a chain of overflow pages. Our tables begin with a text of known
length, so headers show where a record may begin, and the digest shows whether it is one, whatever happened to
the pages around it. Source: sqlite.org/fileformat2.html, sections 1.5 to 2.1 (cells, overflow pages, record
format) and 4.1 (write-ahead log).
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whyconv.runner.database import PAGE, TABLES, width
from whyconv.runner.seal import UNSEALED, Record, complaint

TRIES = 64
"""Combinations of overflow pages tried per record: older versions of a page may be there, too."""
_WAL_HEADER, _FRAME_HEADER = 32, 24
_KEY, _ID = b"M", b"-"
"""Types of texts of 32 and 16 characters, those of the first columns: 13 + 2 * length."""
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes per integer, by type."""
_BEGINNINGS = {
    table: re.compile(b"(?=[\\x03-\\x1f]" + (_KEY * 2 if table == "rows" else _KEY if key else _ID) + b")")
    for table, key in ((name, columns.startswith("key")) for name, columns in TABLES.items())
}


def carved(file: Path) -> dict[str, list[Record]]:
    """Every intact record in the bytes of a database and of its write-ahead log, by table.

    Includes older versions of a record. Cost: about a second per 10 MB.
    """
    pages = _pages(file)
    images: defaultdict[int, list[bytes]] = defaultdict(list)
    for number, page in pages:
        images[number].insert(0, page)  # the newest first
    found: dict[str, dict[Record, None]] = {table: {} for table in TABLES}
    for _, page in pages:
        for table, beginning in _BEGINNINGS.items():
            for place in beginning.finditer(page):
                for record in _read_as(table, page, place.start(), images):
                    if not complaint(table, record):
                        found[table][record] = None
                        break
    return {table: list(records) for table, records in found.items()}


def _read_as(table: str, page: bytes, at: int, images: dict[int, list[bytes]]) -> Iterator[Record]:
    """Candidates for a record of this table that begins here."""
    for record in _records(page, at, width(table), images):
        if table == "durations":  # whole seconds are written as integers
            yield (*record[:2], float(record[2]), *record[3:]) if isinstance(record[2], int) else record
        else:
            yield record
    if table == "runs":  # of the first version: the id is the digest of the settings
        for record in _records(page, at, width(table) - 1, images):
            yield (*record, UNSEALED)


def _pages(file: Path) -> list[tuple[int, bytes]]:
    """The numbered pages of the file, then those of its log, oldest first."""
    beside = file.with_name(f"{file.name}-wal")
    content, log = (path.read_bytes() if path.is_file() else b"" for path in (file, beside))
    pages = [(at // PAGE + 1, content[at : at + PAGE]) for at in range(0, len(content), PAGE)]
    for at in range(_WAL_HEADER, len(log), _FRAME_HEADER + PAGE):
        number = int.from_bytes(log[at : at + 4], "big")
        pages.append((number, log[at + _FRAME_HEADER : at + _FRAME_HEADER + PAGE]))
    return pages


def _records(page: bytes, at: int, columns: int, images: dict[int, list[bytes]]) -> Iterator[Record]:
    """Candidates for a record of this many columns that begins here."""
    types = _types(page, at, columns)
    if types is None:
        return
    size = page[at] + sum(map(_length, types))
    local = _local(size)
    if at + local + (4 if local < size else 0) > len(page) or size > PAGE * (len(images) + 1):
        return
    body = page[at : at + local]
    if local == size:
        chains: Iterator[bytes] = iter([b""])
    else:
        first = int.from_bytes(page[at + local : at + local + 4], "big")
        chains = _chains(first, size - local, images)
    for rest in chains:
        yield _decoded(body + rest, page[at], types)


def _types(page: bytes, at: int, columns: int) -> list[int] | None:
    """The types of the columns, if a header of this many columns begins here."""
    end, place, types = at + page[at], at + 1, []
    while place < end and len(types) < columns:
        number = 0
        for _ in range(5):
            if place >= len(page):
                return None
            byte = page[place]
            number, place = number << 7 | byte & 0x7F, place + 1
            if byte < 0x80:
                break
        if number in (0, 10, 11) or (number >= 12 and not number % 2):  # no NULL and no blob is in our tables
            return None
        types.append(number)
    return types if place == end and len(types) == columns else None


def _length(kind: int) -> int:
    if kind >= 13:
        return (kind - 13) // 2
    return 8 if kind == 7 else _INTEGERS.get(kind, 0)


def _local(size: int) -> int:
    """How many bytes of a record are stored in its own page; the rest overflows."""
    most, least = PAGE - 35, (PAGE - 12) * 32 // 255 - 23
    if size <= most:
        return size
    even = least + (size - least) % (PAGE - 4)
    return even if even <= most else least


def _chains(first: int, left: int, images: dict[int, list[bytes]]) -> Iterator[bytes]:
    """The bytes of the overflow chain from page ``first`` on, for each combination of page versions.

    Reads at most ``TRIES`` times as many pages as the chain has.
    """
    budget = TRIES * (left // (PAGE - 4) + 1)
    waiting = [(first, left, b"")]
    while waiting and budget:
        number, left, before = waiting.pop()
        for page in reversed(images.get(number, ())):  # the newest is popped first
            here = page[4 : 4 + left]
            if len(page) == PAGE and len(here) == left:
                yield before + here
            elif len(page) == PAGE:
                waiting.append((int.from_bytes(page[:4], "big"), left - len(here), before + here))
        budget -= 1


def _decoded(data: bytes, place: int, types: list[int]) -> Record:
    values: list[Any] = []
    for kind in types:
        part = data[place : place + _length(kind)]
        place += len(part)
        if kind >= 13:
            values.append(part.decode("utf-8", "replace"))
        elif kind == 7:
            values.append(struct.unpack(">d", part)[0])
        elif kind in (8, 9):
            values.append(kind - 8)
        else:
            values.append(int.from_bytes(part, "big", signed=True))
    return tuple(values)
