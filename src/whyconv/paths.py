"""Names of files and folders that users give, checked; and the folder of what can be fetched again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import platformdirs

from whyconv.errors import UserError


def given_path(name: str | Path) -> Path:
    """The path, if its name can be stored, printed and typed again.

    An empty name, which would mean the working folder, is refused; that is ``.``
    """
    text = str(name) if isinstance(name, Path) else name
    if not text.strip():
        raise UserError(f"the name {text!r} was given for a file or folder; give one that is not empty.")
    if not text.isprintable():
        raise UserError(
            f"the name {text!a} was given for a file or folder; give one of printable characters in UTF-8."
        )
    if text.startswith("-"):
        raise UserError(
            f"the name {text} was given for a file or folder but looks like an option; if it is not one, "
            f"write ./{text}."
        )
    return Path(text)


_runs: list[Path] = []


def use_run_folder(folder: str | Path) -> None:
    """From now on trials of this process belong to the run in this folder."""
    _runs[:] = [Path(folder)]


def run_folder() -> Path:
    """The folder of the current run, where tasks find data that are kept with the rows."""
    return _runs[0] if _runs else Path()


def cache_folder(environ: Mapping[str, str]) -> Path:
    """WHYCONV_CACHE; else ``whyconv`` in XDG_CACHE_HOME, or in the user's cache folder on this system."""
    if own := environ.get("WHYCONV_CACHE"):
        return Path(own)
    home = environ.get("XDG_CACHE_HOME")
    return Path(home) / "whyconv" if home else platformdirs.user_cache_path("whyconv", appauthor=False)
