"""Papers as they were published, and how readers name a place in one: ``Theorem 4``, ``Fig. 3a``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SHORT_FORMS: Mapping[str, str] = {
    "thm": "theorem", "lem": "lemma", "cor": "corollary", "prop": "proposition", "fig": "figure",
    "sec": "section", "app": "appendix", "equation": "eq", "equations": "eq", "eqs": "eq", "figs": "figure",
    "figures": "figure", "theorems": "theorem", "lemmas": "lemma", "corollaries": "corollary",
    "sections": "section",
}  # fmt: skip
"""How else readers write the first word of a place."""


@dataclass(frozen=True)
class Paper:
    """``PAPER`` in the folder of a paper: what to cite, and what was read."""

    authors: tuple[str, ...]
    """Each as "Family, Given"."""
    title: str
    year: int
    venue: str
    arxiv: str
    """The number of the preprint."""
    read: str
    """Which text is judged here, as a sentence."""

    @property
    def sentence(self) -> str:
        """Authors, title, venue, preprint and the text at hand."""
        first = [f"{given} {family}" for family, given in (each.split(", ") for each in self.authors)]
        names = ", ".join(first[:-1]) + (" and " if len(first) > 1 else "") + first[-1]
        return f"{names}: {self.title}. {self.venue}, {self.year}; arXiv {self.arxiv}. {self.read}"

    @property
    def fields(self) -> dict[str, str]:
        """For BibTeX."""
        return {
            "author": " and ".join(self.authors), "title": self.title, "howpublished": self.venue,
            "year": str(self.year), "eprint": self.arxiv, "archiveprefix": "arXiv",
        }  # fmt: skip

    def data(self) -> dict[str, Any]:
        """For ``--json``."""
        return {**vars(self), "authors": list(self.authors)}


def places(reference: str, name: str) -> bool:
    """Whether a piece's reference, without its paper, is the place of this name or begins with it.

    >>> [places(f"B & G, {where}", "thm 5.1") for where in ("Theorem 5.1 (2)", "Theorem 5.12", "Eq. 24")]
    [True, False, False]
    >>> places("B & G, Figure 3a", "Fig.3A"), places("B & G, Figure 3a", "Figure 3")
    (True, False)
    """
    where, wanted = _words(reference.partition(", ")[2]), _words(name)
    return len(wanted) > 1 and where[: len(wanted)] == wanted


def _words(place: str) -> list[str]:
    """Lower case, short forms in full; a number keeps its points, and stands alone."""
    spaced = re.sub(r"\b([a-z]{2,})\.(?=\d)", r"\1 ", place.lower())
    words = [word.strip(".") for word in re.findall(r"\w+(?:\.\w+)*\.?", spaced)]
    return [SHORT_FORMS.get(word, word) for word in words]
