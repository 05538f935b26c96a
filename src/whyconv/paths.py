"""Checks of the names of files and folders that users give."""

from __future__ import annotations

from pathlib import Path

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
