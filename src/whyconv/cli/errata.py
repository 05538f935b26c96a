"""``whyconv errata``: what papers print and what holds instead, with sources, also to cite."""

from __future__ import annotations

import json
import shutil
import textwrap
from typing import Annotated

import typer

from whyconv import __version__, registry
from whyconv.api import chosen_claims
from whyconv.claims.errata import LABELS, bibtex, markdown, records
from whyconv.errors import UserError


def errata(
    which: Annotated[str, typer.Argument(metavar="[CLAIM|PAPER|all]", help="Whose errata.")] = "all",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_bibtex: Annotated[bool, typer.Option("--bibtex", help="Print BibTeX.")] = False,
    load: Annotated[
        list[str] | None, typer.Option(help="A Python file of your own pieces; may be repeated.")
    ] = None,
) -> None:
    """List what the papers print and what holds instead.

    For each erratum: the printed statement, the corrected one, why, and where the proof breaks.
    """
    if as_json + as_markdown + as_bibtex > 1:
        raise UserError("--json, --markdown and --bibtex exclude each other; give one of them.")
    for file in load or ():
        registry.load(file)
    found = records(chosen_claims(which))
    if as_json:
        print(json.dumps(found, indent=2))
    elif as_markdown or as_bibtex:
        print(markdown(found) if as_markdown else bibtex(found, __version__))
    elif not found:
        print(f"There are no errata among the claims of {which}.")
    else:
        width = min(shutil.get_terminal_size((80, 24)).columns, 100)
        for each in found:
            print(f"{each['claim']}  {each['reference']}")
            for name, label in {"kind": "kind", **LABELS}.items():
                head = f"  {label + ':':<11}"
                print(textwrap.fill(each[name], width, initial_indent=head, subsequent_indent=" " * 13,
                                    break_on_hyphens=False))  # fmt: skip
            print()
        print("whyconv check CLAIM decides one again; --markdown and --bibtex are for citing.")
