"""Writes docs/tightness.md from the record of ``check all --stress``: python docs/tightness.py DIR."""

import sys
from pathlib import Path

from whyconv import api, stress

PAGE = Path(__file__).with_suffix(".md")
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


def main() -> None:
    """Put the table in place of the old one; the words around it stay."""
    claims = api.chosen_claims("all")
    table = stress.written(stress.read(Path(sys.argv[1])), claims)
    table += "\nNot searched:\n\n"
    table += "".join(f"- `{name}`: {why}.\n" for name, why in stress.unsearched(claims).items())
    head, rest = PAGE.read_text("utf-8").split(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}", "utf-8")


if __name__ == "__main__":
    main()
