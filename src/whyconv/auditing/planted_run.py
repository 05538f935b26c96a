"""How often an audit is right on planted data: ``python -m whyconv.auditing.planted_run``.

Every data set gets ten rounds, or five if these decide all, whatever the time, so the table does not depend
on the machine. To save half of the time, what no answer here depends on is left out: the two arms in no
question (LCN + max, bag), the order test where it is not asked for, all but that test where it is (bag),
sizes below the four largest, the linear model and the forest. Steps do not grow: an arm that still learns
leaves its question unjudged.

Sizes, lengths, windows, seeds, expected answers and these omissions were fixed before any of these data sets
was drawn; others served for building.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from whyconv.auditing.arms import CNN, FCN, GLOBAL_MAX, LCN, SHARED_MAX
from whyconv.auditing.dataset import Dataset
from whyconv.auditing.design import designed
from whyconv.auditing.planted import planted
from whyconv.auditing.result import Result
from whyconv.auditing.results import result
from whyconv.auditing.study import Audit, OrderTest
from whyconv.auditing.validation import Experiment, Line, completed, main, rate

ROUNDS = 10
"""At most; five if all is decided by then, as in every audit."""
SIZES = 4
"""The largest sizes of the design."""
ASKED = (FCN, LCN, CNN, SHARED_MAX, GLOBAL_MAX)
"""The arms of the questions."""
SHAPES = {
    "shift": (1800, 90, 7), "local": (1000, 80, 10), "dense": (1000, 36, 6), "bag": (1200, 48, 6),
    "noise": (1000, 72, 6),
}  # fmt: skip
"""Examples, length and window of the judged data sets."""
KINDS = tuple(SHAPES)
FIRST_SEED = 400
"""Seeds of the judged data sets begin here. Nine data sets of seeds 100 to 399 were audited by earlier forms
of the audit and led to changes of it: the order test reads the outcome in place of the log loss, an arm that
is ahead may still be learning. So these are others, of this form."""
RIGHT: Mapping[str, Mapping[str, frozenset[str]]] = {
    "shift": dict.fromkeys(("locality", "sharing", "pooling"), frozenset({"saves"})),
    "local": {
        "locality": frozenset({"saves"}), "sharing": frozenset({"no difference", "costs"}),
        "pooling": frozenset({"costs"}),
    },
    "dense": {"locality": frozenset({"costs"})},
    "bag": {"order": frozenset({"not seen"})},
    "noise": dict.fromkeys(("locality", "sharing", "pooling", "together"), frozenset({"not judged"})),
}  # fmt: skip
"""The answers that are right; *undecided* and *not judged* are neither right nor wrong where not listed."""

Grade = Literal["right", "wrong", "undecided"]


def grades(kind: str, found: Result) -> dict[str, Grade]:
    """Every answer that the kind of data decides, graded."""
    given = {each.prior: each.verdict for each in found.savings} | {"order": found.order.verdict}
    graded: dict[str, Grade] = {}
    for question, right in RIGHT[kind].items():
        answer = given[question]
        unsure = answer in ("undecided", "not judged")
        graded[question] = "right" if answer in right else "undecided" if unsure else "wrong"
    return graded


def overall(graded: Mapping[str, Grade]) -> Grade:
    """Wrong if any answer is, right if all are."""
    found = set(graded.values())
    return "wrong" if "wrong" in found else "undecided" if "undecided" in found else "right"


def study_of(kind: str, seed: int) -> tuple[Dataset, Audit]:
    """A data set with its audit: the kind whose answer is about order alone has the order test alone."""
    dataset = planted(kind, *SHAPES[kind], seed)
    study = designed(dataset, arms=ASKED)
    if set(RIGHT[kind]) == {"order"}:
        return dataset, OrderTest(**dict(study))
    changed = {
        "seeds": ROUNDS,
        "sizes": study.sizes[-SIZES:],
        "orders": 0,
        "growths": 0,
        "reference_rounds": 0,
    }
    return dataset, study.model_copy(update=changed)


def audited(kind: str, seed: int, folder: Path) -> Line:
    """The audit of one data set, with its grades."""
    began, (dataset, study) = time.monotonic(), study_of(kind, seed)
    summary = completed(study, dataset, folder)
    found = result(study, summary.points, summary.rows)
    took = round(time.monotonic() - began, 1)
    return {"grades": grades(kind, found), "seconds": took, "result": found.to_json()}


def table(lines: list[dict[str, Any]]) -> str:
    """Right, wrong and undecided by kind and question, as Markdown, with intervals of Clopper & Pearson."""
    rows = ["| data | question | right | wrong | undecided |", "|---|---|---|---|---|"]
    for kind in KINDS:
        own = [line["grades"] for line in lines if line["kind"] == kind]
        for question in (*RIGHT[kind], "all of them") if own else ():
            found = [overall(each) if question == "all of them" else each[question] for each in own]
            cells = [rate(found.count(grade), len(found)) for grade in ("right", "wrong", "undecided")]
            rows.append(f"| {kind} | {question} | {' | '.join(cells)} |")
    every = [overall(line["grades"]) for line in lines]
    if every:
        cells = [rate(every.count(grade), len(every)) for grade in ("right", "wrong", "undecided")]
        rows.append(f"| all | all of them | {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main(Experiment("planted", KINDS, FIRST_SEED, 20, audited, table))
