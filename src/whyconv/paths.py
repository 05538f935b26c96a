"""Names of files and folders as users give them, checked before anything is made of them."""

from __future__ import annotations

from pathlib import Path

from whyconv.errors import UserError


def given_path(name: str | Path) -> Path:
    """The path, if its name can be written to a store, a log and a terminal, and be typed again.

    An empty name would stand for the working folder, so it is refused: that has the name ``.``
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
            f"the name {text} was given for a file or folder and looks like an option; if it is none, "
            f"write ./{text}."
        )
    return Path(text)
