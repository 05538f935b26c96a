"""``whyconv data``: list, download and check image sets."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from whyconv.cli.terminal import complain
from whyconv.errors import UserError
from whyconv.paths import given_path
from whyconv.tasks import images
from whyconv.tasks.images.catalogue import SETS, known
from whyconv.tasks.images.download import fetch as download
from whyconv.tasks.images.places import cache, find, mend, places, unpacked, wrong_sizes

data_app = typer.Typer(
    help="List, download and check sets of real images.",
    rich_markup_mode=None,
    epilog="Example: whyconv data fetch mnist",
)

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        parser=given_path,
        help="Folder of image sets; default WHYCONV_DATA, else the cache.",
    ),
]


def use(data: Path | None) -> None:
    """Look for image sets in this folder, here and in workers."""
    if data is not None:
        images.use_folder(data)


@data_app.command("list", epilog="Examples: whyconv data list; whyconv data list --data DIR --json")
def list_(
    data: Data = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the image sets: where each is, or how large its download is. Reads only names and sizes."""
    use(data)
    facts = [_about(name) for name in SETS]
    print(json.dumps(facts, indent=2) if as_json else "\n".join(map(_text, facts)))


@data_app.command(
    epilog="Examples: whyconv data fetch mnist; whyconv data fetch mnist fashion-mnist cifar-10"
)
def fetch(
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="mnist, fashion-mnist, cifar-10.")],
    data: Data = None,
) -> None:
    """Download image sets into the cache and check them. Sets that are here and intact are left alone."""
    use(data)
    for each in _known(name):
        if known(each).embedded:
            print(f"{each}: {images.describe(each)}; nothing to download.")
            continue
        place = find(each, known(each).batches)
        wrong = images.problems(each, place) if place else []
        if place and not wrong:
            print(f"{each}: already in {place.folder}, intact.")
            continue
        if place and place.folder != cache() / each:
            raise UserError(wrong[0])
        for sentence in wrong:
            print(sentence)
        home = download(each)
        print(f"{each}: now in {home}, intact.")
        used = find(each)
        if used and used.folder != home:
            print(f"{each}: {used.folder} still comes first: {images.describe(each)}.")


@data_app.command(epilog="Examples: whyconv data verify; whyconv data verify cifar-10 --data DIR")
def verify(
    name: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Default: all.")] = None,
    data: Data = None,
) -> None:
    """Check files against their published checksums. Exit 2 if one is damaged or missing."""
    use(data)
    found = {each: places(each) for each in _known(name or tuple(SETS))}
    for each in found if name else ():
        if not found[each] and not known(each).embedded:
            what = unpacked(each) or f"{each} is not here"
            raise UserError(f"{what}; run whyconv data fetch {each}, or give a folder with --data.")
    good = True
    for each in name or SETS:
        if known(each).embedded:
            images.load(each)
            print(f"{each}: {images.describe(each)}, intact.")
            continue
        if not found[each]:
            what = unpacked(each)
            good = good and not what
            complain(f"{what}; run whyconv data fetch {each}.") if what else print(f"{each}: not here.")
        for place in found[each]:
            wrong = images.problems(each, place)
            good = good and not wrong
            for sentence in wrong:
                complain(sentence)
            if not wrong:
                print(f"{each}: {images.describe(each, place.batches)}, intact in {place.folder}.")
    if not good:
        raise typer.Exit(2)


def _known(given: Sequence[str]) -> Sequence[str]:
    """The names as given; an unknown one is refused before any file is read or downloaded."""
    for each in given:
        known(each)
    return given


def _about(name: str) -> dict[str, Any]:
    """One set as JSON data; reads no file. It is here if all its files have their published sizes."""
    about, place = known(name), find(name)
    batches = place.batches if place else about.batches
    facts = {
        "name": name,
        "summary": images.describe(name),
        "here": images.here(name) and not (place and wrong_sizes(name, place)),
        "embedded": about.embedded is not None,
        "train": about.images(about.training(batches)),
        "test": about.images(about.test),
        "download_bytes": about.download,
    }
    if about.embedded:
        return facts
    damaged = {path: why for each in places(name) for path, why in wrong_sizes(name, each).items()}
    return facts | {
        "folder": str(place.folder) if place else None,
        "batches": batches,
        "incomplete": {str(each.folder): each.missing for each in places(name) if each.missing},
        "damaged": {str(path): f"{why}; {mend(name, path)}" for path, why in damaged.items()},
        "unpacked": unpacked(name) if place is None else "",
    }


def _text(facts: dict[str, Any]) -> str:
    """One set as text, fitted to the terminal."""
    if facts["embedded"]:
        lines = ["always here"]
    elif facts["folder"]:
        lines = [f"in {facts['folder']}{'' if facts['here'] else ', damaged'}"]
    else:
        size = facts["download_bytes"] / 1e6
        lines = [f"not here; whyconv data fetch {facts['name']} downloads {size:.1f} MB"]
    for folder, files in facts.get("incomplete", {}).items():
        lines.append(f"{folder} lacks {', '.join(files)}")
    for path, why in facts.get("damaged", {}).items():
        lines.append(f"{path} {why} (details: whyconv data verify {facts['name']})")
    lines += [facts["unpacked"]] if facts.get("unpacked") else []
    width = min(shutil.get_terminal_size((80, 24)).columns, 120)
    first, later = " " * 15, " " * 17
    wrapped = [
        textwrap.fill(
            line,
            width,
            initial_indent=first,
            subsequent_indent=later,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in (facts["summary"], *lines)
    ]
    return f"{facts['name']:<15}" + "\n".join(wrapped).lstrip()
