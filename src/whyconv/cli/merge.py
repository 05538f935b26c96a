"""``whyconv merge``: rows of several folders in one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyconv.errors import UserError
from whyconv.paths import given_path
from whyconv.runner.database import FILE
from whyconv.runner.merging import merge as merged
from whyconv.text import count


def merge(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", parser=given_path, help="The folder that gets the rows.")
    ],
    others: Annotated[
        list[Path], typer.Argument(metavar="OTHER", parser=given_path, help="Folders that keep theirs, too.")
    ],
) -> None:
    """Add the rows of other folders to DIR.

    Each is checked against its digest and key.

    The same study run into DIR then finds them: a large study can be run in shards, by several commands.
    """
    if not (folder / FILE).is_file():
        raise UserError(f"there is no store in {folder}; name a folder that a run made, then those to add.")
    found = merged(folder, others)
    told = [f"{count(found.added, 'row')} added to {folder}", f"{count(found.same, 'row')} already there"]
    if found.elsewhere:
        told.append(f"{count(found.elsewhere, 'row')} of other processors left out, whose trials are there")
    print(f"{'; '.join(told)}; {found.total:,} in all.")
