"""The page's own files: the template, plain modules of JavaScript, style sheets, and Vega."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from whyconv.report.embedding import bundle

KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
MODULES = (
    "words.js",
    "server.js",
    "chart.js",
    "controls.js",
    "breaking.js",
    "worth.js",
    "audit.js",
    "main.js",
)
"""In an order in which each imports only earlier ones."""
TEMPLATES = Environment(
    loader=PackageLoader("whyconv.page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True,
)  # fmt: skip


@dataclass(frozen=True)
class Asset:
    """A file with its digest, also compressed."""

    content: bytes
    packed: bytes
    kind: str
    tag: str


def page(token: str) -> str:
    """The page as the server gives it to whoever has the cookie."""
    return TEMPLATES.get_template("page.html").render(token=token, saved=None)


@cache
def asset(name: str) -> Asset | None:
    """One of our files by name; None for any other name."""
    if name not in ("vega.js", "page.css", *MODULES):
        return None
    content = (vega() if name == "vega.js" else text(name)).encode()
    tag = hashlib.sha256(content).hexdigest()[:16]
    return Asset(content, gzip.compress(content, 9), KINDS[name[name.rindex(".") :]], f'"{tag}"')


def text(name: str) -> str:
    return files("whyconv.page").joinpath("static", name).read_text("utf-8")


@cache
def vega() -> str:
    """Vega as a module: what it declares at its top level stays inside."""
    return bundle()
