"""The exception for mistakes that the user can correct, and errors in one line."""

from __future__ import annotations

LONGEST = 600
"""Characters of a sentence on the terminal; a longer one is shortened in the middle."""


class UserError(Exception):
    """A mistake of the user, in one sentence: what was given, what is allowed, what to do.

    The command line prints the sentence and exits with code 2; a notebook sees an ordinary exception
    with the same text.
    """


def one_sentence(text: str) -> str:
    """The text as one printable line that ends with a full stop, whatever user input it quotes."""
    line = _cut("".join(each if each.isprintable() else _escaped(each) for each in _cut(text.strip())))
    return line if line.endswith(".") else f"{line}."


def said(error: BaseException) -> str:
    """Type and message of an exception, whose own ``__str__`` may fail."""
    try:
        words = str(error).strip().rstrip(".")
    except Exception:
        words = ""
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _cut(text: str) -> str:
    half = (LONGEST - 5) // 2
    return text if len(text) <= LONGEST else f"{text[:half]} ... {text[-half:]}"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()
