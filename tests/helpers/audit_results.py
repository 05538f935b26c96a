"""Results of audits made by hand: one for every verdict, and what a screen and a page must cope with."""

from dataclasses import replace

from whyconv.auditing.result import Arm, Control, Described, Forecast, Order, Result, Saving

CURVES = {
    "FCN": (0.86, 0.8, 0.72, 0.62, 0.53, 0.44),
    "LCN": (0.82, 0.72, 0.58, 0.44, 0.35, 0.29),
    "CNN": (0.76, 0.62, 0.44, 0.32, 0.25, 0.2),
    "LCN + max": (0.83, 0.73, 0.6, 0.47, 0.37, 0.3),
    "CNN + max": (0.7, 0.5, 0.35, 0.25, 0.18, 0.13),
    "CNN + global max": (0.62, 0.42, 0.28, 0.2, 0.14, 0.1),
    "bag": (0.88, 0.87, 0.86, 0.85, 0.85, 0.84),
    "permuted FCN": (0.86, 0.81, 0.72, 0.63, 0.52, 0.45),
}
SIZES = (117, 234, 468, 937, 1875, 3750)


def curves():
    return tuple(
        {"arm": arm, "m": m, "error": error, "low": 0.93 * error, "high": 1.07 * error, "rounds": 5}
        for arm, errors in CURVES.items()
        for m, error in zip(SIZES, errors, strict=True)
    )


def digits() -> Result:
    """An audit in which everything was decided but pooling."""
    flat = "the curve is flat at the end; more rounds"
    return Result(
        data=Described("digits1d", 5000, (1, 40, 1), 10, "error"),
        order=Order("matters", 0.05, 0.35, 0.63, 39, "CNN + max"),
        savings=(
            Saving("locality", "saves", 4.31, 3.3, 5.4, without="FCN", given="LCN", at=0.44),
            Saving("sharing", "saves", 2.4, 2.0, 3.1, without="LCN", given="CNN", at=0.29),
            Saving("pooling", "undecided", 2.7, 0.8, 3.4, why=flat, without="CNN", given="CNN + global max"),
            Saving("together", "saves", 13.6, 10.8, 18.3, without="FCN", given="CNN + global max", at=0.44,
                   needed=276, instead_of=3750),
        ),
        window=9,
        arms=tuple(
            Arm(name, errors[-1], 0.93 * errors[-1], 1.07 * errors[-1])
            for name, errors in CURVES.items() if name != "permuted FCN"
        ),
        best="CNN + global max",
        references=(Arm("majority", 0.9), Arm("logistic", 0.7, 0.68, 0.72), Arm("forest", 0.23, 0.21, 0.25)),
        forecast=Forecast(7500, 0.08, 0.07, 0.095, 0.05, None, "Such forecasts were good in 4 of 5."),
        controls=(
            Control("permuted FCN", "A fully connected network needs as many examples in any order.", True,
                    0.94, 0.81, 1.1),
            Control("permuted winner", "The best network does worse in a random order.", True, error=0.61),
            Control("shuffled labels", "With shuffled labels nothing is learned.", True, error=0.9),
        ),
        warnings=("FCN still learning at the step limit (train error .29); give --minutes 15",),
        rounds=5,
        seconds=241.0,
        out="whyconv-audits/digits1d",
        curves=curves(),
    )  # fmt: skip


def all_of(verdict, **more):
    return tuple(Saving(each.prior, verdict, **more) for each in digits().savings)


def results() -> dict[str, Result]:
    """By name."""
    base = digits()
    unseen = Order("not seen", 0.6, 0.2, 0.2, 39, "CNN + max")
    noise = "no network is better than the majority"
    none = replace(
        base, order=Order("not judged", why=noise), savings=all_of("not judged", why=noise), window=None,
        forecast=None, best=None, arms=(), references=(), controls=(), warnings=(), rounds=0, curves=(),
    )  # fmt: skip
    return {
        "digits": base,
        "costs": replace(base, savings=all_of("costs", factor=0.4, low=0.31, high=0.52)),
        "no difference": replace(
            base, order=unseen, savings=all_of("no difference", factor=1.02, low=0.8, high=1.3)
        ),
        "at least": replace(base, savings=all_of("saves", low=31.0)),
        "at most": replace(base, savings=all_of("costs", high=0.3)),
        "open": replace(base, savings=all_of("undecided", factor=2.0, low=0.97)),
        "undecided": replace(base, savings=all_of("undecided", why="about 12 more rounds would decide")),
        "noise": none,
        "begun": replace(none, order=base.order, references=base.references),
        "table": replace(
            base, data=Described("houses", 506, (1, 13, 4), None, "mse", "table"), order=unseen, window=3,
            arms=(Arm("FCN", 12.3, 10.1, 14.5), Arm("CNN", 15.0)), best="FCN",
            references=(Arm("mean", 84.4), Arm("ridge", 23.7, 20.0, 27.0), Arm("forest", 11.1, 9.0, 13.0)),
        ),
        "images": replace(
            base, data=Described("clothes", 1500, (28, 28, 3), 10, "balanced", "image"), window=7
        ),
        "failed check": replace(
            base,
            controls=(
                replace(base.controls[0], fine=False),
                replace(base.controls[1], fine=None, error=None),
                replace(base.controls[2], fine=None),
            ),
        ),
        "long": replace(
            base, data=replace(base.data, name="a very long name of a data set " * 4),
            warnings=("w" * 300, *base.warnings * 12), savings=all_of("undecided", why="because " * 40),
        ),
    }  # fmt: skip
