"""One verdict to cite: what was decided, by which version, with a digest that others can compare.

The digest of a claim is the SHA-256 of its statement, its verdict, those of its controls and the code that
decides it (all claims and exact mathematics of its paper, and the package's exact mathematics), so it is the
same on every machine as long as nothing of this changes. That of a study covers its question, its verdicts,
its criterion and its rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyconv import __version__, registry
from whyconv.claims import Claim
from whyconv.claims.errata import entry, plain
from whyconv.runner.seal import seal
from whyconv.runs import Run
from whyconv.spec import digest
from whyconv.stress import code_digest

SHORT = 16
"""Characters of a digest in a citation."""


def claim_cited(claim: type[Claim], decided: Mapping[str, Any]) -> dict[str, str]:
    """A claim as it was decided just now."""
    content = {
        "claim": decided["claim"],
        "statement": decided["statement"],
        "erratum": decided["erratum"],
        "verdict": decided["verdict"],
        "controls": [[each["control"], each["verdict"]] for each in decided["controls"]],
        "code": code_digest(claim),
    }
    said = decided["statement"]
    if erratum := decided["erratum"]:
        said = f"Printed: {erratum['printed']} Corrected: {erratum['corrected']}"
    return _record(decided["claim"], said, decided["reference"], decided["verdict"], content,
                   f"whyconv check {decided['claim']}")  # fmt: skip


def run_cited(run: Run) -> dict[str, str]:
    """A study with its rows, judged."""
    keys = sorted({point.trial.key for point in run.points} & run.rows.keys())
    control = run.judgement.control.verdict if run.judgement else ""
    content = {
        "study": run.study.name,
        "question": run.study.title,
        "verdict": run.verdict,
        "control": control,
        "criterion": run.standing.digest if run.standing else "",
        "rows": [seal(run.rows[key])[-1] for key in keys],
    }
    command = run.command or f"whyconv run {run.study.name}"
    return _record(run.study.name, run.answer, run.study.reference, run.verdict, content, command)


def _record(name: str, said: str, source: str, verdict: str, content: Any, command: str) -> dict[str, str]:
    return {
        "id": name, "says": said, "source": source, "verdict": verdict, "version": __version__,
        "digest": digest(content), "command": command,
    }  # fmt: skip


def sentence(cited: Mapping[str, str]) -> str:
    """The citation as text. Nothing is in quotation marks: statements are in our words."""
    return (
        f"{cited['source']} ({cited['id']}): {cited['verdict']}, by whyconv {cited['version']}. "
        f"{cited['says']} Digest {cited['digest'][:SHORT]}, by {cited['command']}."
    )


def bibtex(cited: Mapping[str, str]) -> str:
    """The citation as an entry for BibTeX, and one for the paper that it is about."""
    title = f"{cited['id']}: {cited['verdict']} ({cited['source']})"
    note = (
        f"Version {cited['version']}, digest {cited['digest'][:SHORT]}. {cited['says']} By {cited['command']}"
    )
    fields = {
        "title": f"{{{plain(title)}}}",
        "author": "{{The whyconv developers}}",
        "howpublished": f"{{whyconv {cited['version']}}}",
        "note": f"{{{plain(note)}}}",
    }
    name = cited["id"].partition(".")[0]
    entries = [entry(f"whyconv:{cited['id'].replace('.', ':')}", fields)]
    if paper := registry.paper(name):
        entries.append(entry(name, {field: f"{{{text}}}" for field, text in paper.fields.items()}))
    return "\n\n".join(entries)
