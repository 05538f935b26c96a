"""Finds pieces by kind and name. There is no list to edit: a new file is enough.

The first lookup imports every module of the folders ``tasks``, ``networks`` and ``learners`` and of the
folders of every paper in ``whyconv.papers``, further papers (folders of a package
``whyconv_papers`` anywhere on Python's path, with the same layout), and the entry points that other packages
publish in the group ``whyconv``. Files given with ``--load`` are added. None of our own modules imports JAX
or scikit-learn at module level, so a lookup is fast.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from whyconv.errors import UserError, said
from whyconv.paths import given_path
from whyconv.published import Paper, places

KINDS = {"task": "tasks", "network": "networks", "learner": "learners", "study": "studies", "claim": "claims"}
FUNCTIONS = {
    "loss": "losses",
    "activation": "activations",
    "pooling": "poolings",
    "noise law": "noise laws",
    "radial law": "radial laws",
}
"""Kinds of plain functions that settings name: see :mod:`whyconv.functions`."""
ROOMS = ("tasks", "networks", "learners")
OTHERS = ("whyconv.auditing.study", "whyconv.page.questions")
"""Modules with pieces outside of rooms and papers."""
PAPERS = ("whyconv.papers", "whyconv_papers")
"""Our papers, and those of others on Python's path."""
_pieces: dict[tuple[str, str], Any] = {}
_loading: list[str] = []
replaced: list[Callable[[], None]] = []
"""Called when an edited file replaces its pieces: what was compiled from them is made anew."""
LARGEST = 10_000_000
"""Limit in bytes for a user's file of pieces."""


def add(piece: Any) -> None:
    """Register a named subclass of :class:`whyconv.spec.Piece`, or a function that settings name.

    A name that is taken is refused.
    """
    if not isinstance(piece.name, str) or not piece.name.isprintable() or len(piece.name.split()) != 1:
        raise UserError(
            f"{piece.__module__} names a {piece.kind} {piece.name!r}; a name is one printable word, "
            "as in own.study."
        )
    missing = [
        *sorted(getattr(piece, "__abstractmethods__", ())),
        *(name for name in getattr(piece, "required", ()) if not hasattr(piece, name)),
    ]
    if not (piece.__doc__ or "").strip():
        missing.append("a docstring whose first line says what it is")
    if missing:
        raise UserError(f"the {piece.kind} {piece.name!r} of {piece.__module__} lacks {', '.join(missing)}.")
    slot = (piece.kind, piece.name)
    before = _pieces.get(slot)
    if before is not None and _home(before) != _home(piece):
        raise UserError(
            f"the {piece.kind} {piece.name!r} of {piece.__module__} has the name of one in "
            f"{before.__module__}; give it another name."
        )
    if _loading:
        piece.origin = _loading[-1]
    _pieces[slot] = piece
    if before is not None:
        for forget in replaced:
            forget()


def pieces(kind: str) -> list[Any]:
    """All pieces of a kind that users choose by name, sorted by name."""
    _discover()
    found = [piece for (of, _), piece in sorted(_pieces.items(), key=lambda item: item[0]) if of == kind]
    return [piece for piece in found if getattr(piece, "listed", True)]


def everything(paper: str = "") -> dict[str, list[dict[str, str]]]:
    """Name, summary and reference of every piece and function, or of those of a paper, by kind."""
    order = ("study", "claim", "task", "network", "learner")
    return {
        plural: [
            {
                "name": piece.name,
                "title": getattr(piece, "title", "") or piece.summary(),
                "summary": piece.summary(),
                "reference": piece.reference,
            }
            for piece in pieces(kind)
            if not paper or piece.name.partition(".")[0] == paper
        ]
        for kind, plural in [*((kind, KINDS[kind]) for kind in order), *FUNCTIONS.items()]
    }


def known(kind: str, name: str) -> Any:
    """The piece of this kind and name, or None. One that is here is found while others are being imported."""
    if (kind, name) not in _pieces:
        _discover()
    return _pieces.get((kind, name))


def at(kind: str, place: str) -> list[Any]:
    """The pieces of a kind about a place of a paper, as readers name it: ``Theorem 4``, ``Fig. 3a``."""
    return [piece for piece in pieces(kind) if places(piece.reference, place)]


def paper(name: str) -> Paper | None:
    """What the folder of a paper says of it, if anything."""
    _discover()
    for shelf in PAPERS:
        found = getattr(sys.modules.get(f"{shelf}.{name}"), "PAPER", None)
        if isinstance(found, Paper):
            return found
    return None


def find(kind: str, name: str) -> Any:
    """The piece of this kind and name; an unknown name is answered with the nearest known ones."""
    if (found := known(kind, name)) is not None:
        return found
    near = nearest(name, (piece.name for piece in pieces(kind)))
    plural = (KINDS | FUNCTIONS)[kind]
    raise UserError(f"there is no {kind} {name!r}; known {plural} like it: {', '.join(near)}.")


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """The three names most like one that nobody has, as a whole or after their dot, in any case.

    >>> nearest("CNN", ["svm", "cnn", "malach.lcn", "deep-cnn"])
    ['cnn', 'malach.lcn', 'deep-cnn']
    """

    def likeness(known: str) -> float:
        parts = {known.lower(), known.lower().rpartition(".")[2]}
        return max(difflib.SequenceMatcher(None, name.lower(), part).ratio() for part in parts)

    return sorted(dict.fromkeys(names), key=likeness, reverse=True)[:3]


def load(path: str | Path) -> None:
    """Import a user's own file of pieces; its digest becomes part of their identity."""
    source, file = _source(path)
    _discover()
    origin = _digest(source)
    name = f"whyconv_user_{file.stem}_{origin}"
    if name in sys.modules:
        return
    module = ModuleType(name)
    module.__file__ = str(file)
    sys.modules[name] = module
    before = dict(_pieces)
    _loading.append(origin)
    try:
        exec(compile(source, str(file), "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:  # a SystemExit in a file of pieces must not end the program
        del sys.modules[name]
        _pieces.clear()
        _pieces.update(before)
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} could not be loaded: {said(error)}.") from error
    finally:
        _loading.pop()


def _source(path: str | Path) -> tuple[bytes, Path]:
    """The bytes and the path of a user's file, which must be a plain file of at most ``LARGEST`` bytes."""
    try:
        file = given_path(path).resolve()
        if not file.exists():
            raise UserError(f"--load {path} was given, but there is no such file.")
        if not file.is_file():
            raise UserError(f"--load {path} is not a plain file; give a file of Python source.")
        if (size := file.stat().st_size) > LARGEST:
            raise UserError(
                f"--load {path} was given, which has {size:,} bytes; give a file of Python source of at most "
                f"{LARGEST:,}."
            )
        return file.read_bytes(), file
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        why = error.strerror if isinstance(error, OSError) else "a loop of links"
        raise UserError(f"--load {path} cannot be read: {why}; give a file of Python source.") from None


def file_digest(path: str | Path) -> str:
    """The digest that the pieces of a user's file carry in their fingerprints."""
    return _digest(_source(path)[0])


def _digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:12]


def _home(piece: Any) -> str:
    """The module's name; for a user's file without the digest, so that an edited file replaces it."""
    name = piece.__module__
    return name.rpartition("_")[0] if name.startswith("whyconv_user_") else name


def _modules(name: str) -> list[str]:
    """Import a package and its modules; returns their full names, none for a plain module."""
    package = importlib.import_module(name)
    names = [f"{name}.{module.name}" for module in pkgutil.iter_modules(getattr(package, "__path__", ()))]
    for each in names:
        importlib.import_module(each)
    return names


def _papers(shelf: str) -> None:
    """Import the rooms of all papers of a package; what is wrong with somebody's is said in a sentence."""
    try:
        for paper in _modules(shelf):
            for room in _modules(paper):
                if room.rpartition(".")[2] in KINDS.values():
                    _modules(room)
    except Exception as error:
        if isinstance(error, UserError) or shelf == PAPERS[0]:
            raise
        raise UserError(f"the papers in {shelf} could not be loaded: {said(error)}.") from error


@cache
def discover_rooms() -> None:
    """Import our tasks, networks and learners: all that most trials need, in a third of the time.

    A lookup of a piece that is not among them imports everything else, too.
    """
    for room in ROOMS:
        _modules(f"whyconv.{room}")


@cache
def _discover() -> None:
    discover_rooms()
    for module in OTHERS:
        importlib.import_module(module)
    for shelf in PAPERS:
        if importlib.util.find_spec(shelf):
            _papers(shelf)
    for point in entry_points(group="whyconv"):
        point.load()
