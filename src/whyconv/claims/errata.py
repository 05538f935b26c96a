"""Errata: what a paper prints, what holds instead, why, and where the proof breaks; and ways to cite them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from whyconv import registry


@dataclass(frozen=True)
class Erratum:
    """Of a claim that *holds as corrected*: four texts in the words of docstrings."""

    printed: str
    """The statement as the text at hand has it."""
    corrected: str
    why: str
    """What shows that the printed statement is false."""
    breaks: str
    """The step of the paper that does not go through."""

    def data(self) -> dict[str, str]:
        return asdict(self)


LABELS: Mapping[str, str] = {
    "printed": "printed", "corrected": "corrected", "why": "why", "breaks": "breaks at",
}  # fmt: skip
"""How the four texts are called, in reading order."""
PAPER, TEXT = "error in the paper", "misprint of the text at hand"
"""What an erratum is of: of the paper, or of the text that was read, which need not be the paper's."""


def records(claims: Iterable[Any]) -> list[dict[str, Any]]:
    """The errata of claims with their sources, as data."""
    return [
        {
            "claim": claim.name, "paper": claim.name.partition(".")[0], "reference": claim.reference,
            "provenance": claim.provenance, "kind": TEXT if claim.provenance == "misprint" else PAPER,
            **claim.erratum.data(), "command": f"whyconv check {claim.name}",
        }
        for claim in claims
        if claim.erratum is not None
    ]  # fmt: skip


def markdown(found: Iterable[Mapping[str, Any]]) -> str:
    """A section for every erratum."""
    parts = []
    for each in found:
        lines = [f"## {each['reference']} (`{each['claim']}`)", "", f"- **kind:** {each['kind']}"]
        lines += [f"- **{label}:** {each[name]}" for name, label in LABELS.items()]
        parts.append("\n".join([*lines, f"- **checked by:** `{each['command']}`"]))
    return "\n\n".join(parts)


def bibtex(found: Iterable[Mapping[str, Any]], version: str) -> str:
    """An entry for every paper, and one for every erratum that refers to it."""
    found = list(found)
    papers = {each["paper"]: registry.paper(each["paper"]) for each in found}
    entries = [
        entry(name, {field: f"{{{text}}}" for field, text in (paper.fields if paper else {}).items()})
        for name, paper in papers.items()
    ]
    for each in found:
        note = (
            f"{each['kind'].capitalize()}. Printed: {each['printed']} Corrected: {each['corrected']} "
            f"Checked by: {each['command']}"
        )
        fields = {
            "title": f"{{Erratum to {plain(each['reference'])}}}", "crossref": f"{{{each['paper']}}}",
            "howpublished": f"{{whyconv {version}, claim {each['claim']}}}", "note": f"{{{plain(note)}}}",
        }  # fmt: skip
        entries.append(entry(each["claim"].replace(".", ":"), fields))
    return "\n\n".join(entries)


def entry(key: str, fields: Mapping[str, str]) -> str:
    """An entry of BibTeX; the fields are in braces or quotes already."""
    return "\n".join([f"@misc{{{key},", *(f"  {name} = {text}," for name, text in fields.items()), "}"])


def plain(text: str) -> str:
    """Text that LaTeX can set: its special characters escaped."""
    for sign in "&%$#_":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("^", r"\^{}").replace("~", r"\~{}")
