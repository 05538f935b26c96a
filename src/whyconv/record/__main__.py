"""The record of the repository: makes it, and the pages that show it.

``python -m whyconv.record make [--minutes 60] [--workers 2] [--folder DIR] [STUDY...]``
``python -m whyconv.record gallery`` writes docs/gallery and README's table of worths
``python -m whyconv.record table`` prints what is recorded, and the forecast of what is not
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from whyconv.errors import UserError
from whyconv.record import gallery, making

ROOT = Path(__file__).resolve().parents[3]


def main(words: list[str] | None = None) -> int:
    parser = ArgumentParser(prog="python -m whyconv.record", description=__doc__)
    parser.add_argument("task", choices=["make", "gallery", "table"])
    parser.add_argument("studies", nargs="*")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=making.CORES)
    parser.add_argument("--folder", type=Path, default=Path("whyconv-runs/record"))
    given = parser.parse_intermixed_args(words)
    try:
        if given.task == "make":
            shelf = Path(__file__).parent / "rows"
            making.make(given.folder, shelf, given.minutes, given.workers, print, tuple(given.studies))
        elif given.task == "gallery":
            gallery.write(ROOT)
        else:
            print(gallery.table())
    except UserError as error:
        print(f"whyconv.record: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
