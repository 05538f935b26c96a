"""Does the order test find an order in tables that have none? ``python -m whyconv.auditing.shuffled_run``

Tables that come with scikit-learn, three quarters of their rows, columns in random order: both drawn by the
seed. The criterion, written down before any of these was tested: order is found in at most 10 of 100. (Seeds
400 to 424 were judged by an earlier form of the test, of one network.)
"""

from __future__ import annotations

import time
from pathlib import Path

from whyconv.auditing.dataset import Dataset
from whyconv.auditing.design import designed
from whyconv.auditing.order import order_test
from whyconv.auditing.study import OrderTest
from whyconv.auditing.validation import Experiment, Line, completed, main, rate
from whyconv.lazy import np

KINDS = ("cancer", "wine", "digits", "diabetes")
MOST = 10
"""Of 100 tables."""
FIRST_SEED = 500


def table_of(kind: str, seed: int) -> Dataset:
    """The table with its columns shuffled."""
    from sklearn import datasets

    load = {"cancer": datasets.load_breast_cancer, "wine": datasets.load_wine}
    load |= {"digits": datasets.load_digits, "diabetes": datasets.load_diabetes}
    x, y = load[kind](return_X_y=True)
    chance = np.random.default_rng([seed, KINDS.index(kind)])
    rows = chance.permutation(len(x))[: 3 * len(x) // 4]
    x = x[rows][:, chance.permutation(x.shape[1])].astype(np.float32)
    real = kind == "diabetes"
    classes = () if real else tuple(map(str, np.unique(y)))
    return Dataset(kind, x[:, None, :, None], y[rows].astype(float if real else np.int64), classes, "table")


def tested(kind: str, seed: int, folder: Path) -> Line:
    """The order test of an audit of this table."""
    began, dataset = time.monotonic(), table_of(kind, seed)
    study = OrderTest(**dict(designed(dataset)))
    summary = completed(study, dataset, folder)
    found = order_test(study, summary.points, summary.rows)
    return {"verdict": found.verdict, "p": found.p, "seconds": round(time.monotonic() - began, 1)}


def table(lines: list[Line]) -> str:
    """How often order was found, by table."""
    rows = ["| table, columns shuffled | order found |", "|---|---|"]
    for kind in (*KINDS, "all"):
        own = [line["verdict"] == "matters" for line in lines if kind in (line["kind"], "all")]
        if own:
            rows.append(f"| {kind} | {rate(sum(own), len(own))} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main(Experiment("shuffled", KINDS, FIRST_SEED, 25, tested, table))
