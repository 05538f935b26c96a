"""``whyconv data``: which image sets are here, their download, their check; a skin over the loader."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from whyconv.errors import UserError
from whyconv.paths import given_path
from whyconv.tasks import images
from whyconv.tasks.images.catalogue import SETS, known
from whyconv.tasks.images.places import cache, find, mend, places, unpacked, wrong_sizes

data_app = typer.Typer(
    help="Real images: what is here, download, check.",
    rich_markup_mode=None,
    epilog="Example: whyconv data fetch mnist",
)

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        parser=given_path,
        help="A folder of image sets; else WHYCONV_DATA, else the cache.",
    ),
]


def use(data: Path | None) -> None:
    """Look for image sets in this folder, here and in workers."""
    if data is not None:
        images.use_folder(data)


@data_app.callback()
def _data() -> None:
    """Real images: what is here, download, check."""


@data_app.command("list", epilog="Examples: whyconv data list; whyconv data list --data DIR --json")
def list_(
    data: Data = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Every image set: where it is, or what its download takes. Looks at names and sizes of files only."""
    use(data)
    told = [_about(name) for name in SETS]
    print(json.dumps(told, indent=2) if as_json else "\n".join(map(_text, told)))


@data_app.command(
    epilog="Examples: whyconv data fetch mnist; whyconv data fetch mnist fashion-mnist cifar-10"
)
def fetch(
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="mnist, fashion-mnist, cifar-10.")],
    data: Data = None,
) -> None:
    """Download image sets into the cache and check them. What is here and intact stays as it is."""
    from whyconv.tasks.images.download import fetch as download

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
    """Check all files that are here against their published sums. Exit 2 if one is damaged or lacking."""
    from whyconv.cli.terminal import complain

    use(data)
    found = {each: places(each) for each in _known(name or tuple(SETS))}
    for each in found if name else ():
        if not found[each] and not known(each).embedded:
            what = unpacked(each) or f"{each} is not here"
            raise UserError(f"{what}; run whyconv data fetch {each}, or give a folder by --data.")
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
    """The names as given; one that no set has is refused before any file is read or downloaded."""
    for each in given:
        known(each)
    return given


def _about(name: str) -> dict[str, Any]:
    """One set in plain data; no file is read. It is here if all its files have the published sizes."""
    about, place = known(name), find(name)
    batches = place.batches if place else about.batches
    told = {
        "name": name,
        "summary": images.describe(name),
        "here": images.here(name) and not (place and wrong_sizes(name, place)),
        "embedded": about.embedded is not None,
        "train": about.images(about.training(batches)),
        "test": about.images(about.test),
        "download_bytes": about.download,
    }
    if about.embedded:
        return told
    damaged = {path: why for each in places(name) for path, why in wrong_sizes(name, each).items()}
    return told | {
        "folder": str(place.folder) if place else None,
        "batches": batches,
        "incomplete": {str(each.folder): each.missing for each in places(name) if each.missing},
        "damaged": {str(path): f"{why}; {mend(name, path)}" for path, why in damaged.items()},
        "unpacked": unpacked(name) if place is None else "",
    }


def _text(told: dict[str, Any]) -> str:
    """One set for people, fitted to the terminal."""
    if told["embedded"]:
        lines = ["always here"]
    elif told["folder"]:
        lines = [f"in {told['folder']}{'' if told['here'] else ', damaged'}"]
    else:
        size = told["download_bytes"] / 1e6
        lines = [f"not here; whyconv data fetch {told['name']} downloads {size:.1f} MB"]
    for folder, files in told.get("incomplete", {}).items():
        lines.append(f"{folder} lacks {', '.join(files)}")
    for path, why in told.get("damaged", {}).items():
        lines.append(f"{path} {why} (whyconv data verify {told['name']} tells more)")
    lines += [told["unpacked"]] if told.get("unpacked") else []
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
        for line in (told["summary"], *lines)
    ]
    return f"{told['name']:<15}" + "\n".join(wrapped).lstrip()
