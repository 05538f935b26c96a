"""Tables: .csv and .tsv with a column of labels, and .parquet."""

from __future__ import annotations

import csv as csv_module
from pathlib import Path
from typing import Any

from whyconv.auditing.bad_data import BadData, listed, nearest, require_room
from whyconv.auditing.readers import Asked, Read, opened, reader
from whyconv.lazy import pd

LABELS = ("label", "class", "target", "y")
HEAD = 1 << 16
"""Bytes at the start of a file that tell its separator and whether it has a header."""
SPREAD = 8
"""Bytes in memory for one byte of text, at most: a one-digit number and its comma become eight bytes, read
in pieces of text."""
SEPARATORS = ",;\t|"


@reader(".csv", ".tsv", ".txt")
def csv(path: Path, asked: Asked) -> Read:
    """A table as text, in UTF-8; without a header its columns are numbered from 0."""
    with opened(path) as file:
        head = file.read(HEAD)
        if not head.strip():
            raise BadData(f"{path.name} is empty; give a table with a line per example.")
        require_room(SPREAD * path.stat().st_size, path.name, asked.memory)
        file.seek(0)
        try:
            text = head[: head.rfind(b"\n") + 1 or None].decode("utf-8-sig")
            separator = _separator(text)
            numbered = _headless(text, separator)
            frame = pd.read_csv(
                file,
                encoding="utf-8-sig",
                sep=separator,
                header=None if numbered else 0,
                skipinitialspace=True,
                low_memory=False,
            )
        except UnicodeDecodeError as error:
            raise BadData(f"{path.name} is not text in UTF-8; save it so, or as .npz.") from error
        except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, csv_module.Error) as error:
            why = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
            raise BadData(
                f"{path.name} is not a table ({why:.120}); give each line as many cells."
            ) from error
    frame.columns = [str(name) for name in frame.columns]
    return of_frame(
        path, frame, asked, "it has no header, so columns are numbered from 0" if numbered else ""
    )


def _separator(text: str) -> str:
    """The separator that occurs most in the first line; a comma if none does."""
    first = next(line for line in text.splitlines() if line.strip())
    return max(SEPARATORS, key=first.count)


def _headless(text: str, separator: str) -> bool:
    """Whether the first line holds numbers, so that it is an example."""
    cells = next(
        csv_module.reader([next(line for line in text.splitlines() if line.strip())], delimiter=separator)
    )
    return all(_is_number(cell) for cell in cells)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@reader(".parquet")
def parquet(path: Path, asked: Asked) -> Read:
    """A table in Apache's Parquet; columns of words that are stored as dictionaries are categories."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise BadData(
            f"{path.name} is Parquet, which needs pyarrow; install whyconv[parquet], or save the table as "
            ".csv."
        ) from error
    with opened(path) as file:
        try:
            table = pq.ParquetFile(file)
            about = table.metadata
            require_room(8.0 * about.num_rows * about.num_columns, path.name, asked.memory)
            frame = table.read().to_pandas(ignore_metadata=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise BadData(f"{path.name} is not an intact Parquet file; write it again.") from error
    frame.columns = [str(name) for name in frame.columns]
    return of_frame(path, frame.reset_index(drop=True), asked)


def of_frame(path: Path, frame: Any, asked: Asked, remark: str = "") -> Read:
    """The columns of labels and groups by name, the rest (or the columns that ``--x`` names) as features."""
    names = list(frame.columns)
    remark = f"; {remark}" if remark else ""
    label = asked.label
    if label is None:
        usual = [name for name in names if name.lower() in LABELS]
        if len(usual) != 1:
            numbers = [getattr(kind, "kind", "O") in "biufc" for kind in frame.dtypes]
            order = sorted(range(len(names)), key=numbers.__getitem__)  # words before numbers
            raise BadData(
                f"which column of {path.name} holds the labels was not said; give --label and one of "
                f"{listed([names[place] for place in order])}{remark}."
            )
        label = usual[0]
    for option, name in (("label", label), ("groups", asked.groups)):
        if name is not None and name not in names:
            raise BadData(
                f"--{option} {name} was given, and {path.name} has no such column; columns like it: "
                f"{nearest(name, names)}{remark}."
            )
    if asked.x is not None:
        raise BadData(
            f"--x {asked.x} was given, but all other columns of a table are its features; leave it out."
        )
    return Read(frame, label, asked.groups)
