"""``whyconv exact``: exact population quantities of :mod:`whyconv.exact`."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Annotated, Any

import typer

from whyconv import exact
from whyconv.cli.sizes import sizes
from whyconv.errors import UserError
from whyconv.exact import FourierGap, on_lattice
from whyconv.lazy import np

exact_app = typer.Typer(
    help="Exact population quantities, without sampling.",
    rich_markup_mode=None,
    epilog="Example: whyconv exact gradient --n 1024 --k 10",
)

MOST_BITS = 1_000_000
"""Drawing this many weights takes about a second; each engine has a limit of its own."""


exact_app.command(epilog="Example: whyconv exact sizes --n 32 --k 5 --eps 0.1 --delta 0.1")(sizes)


@exact_app.command(
    epilog="Examples: whyconv exact gradient --n 1024 --k 10; "
    "whyconv exact gradient --n 512 --k 9 --activation clipped-relu --weights signs --scale 1/9 --bias -8/9; "
    "whyconv exact gradient --n 256 --k 8 --activation relu --den 1024"
)
def gradient(
    n: Annotated[int, typer.Option(help="Input bits.")] = 1024,
    k: Annotated[int, typer.Option(help="Bits of the parity: the first k.")] = 10,
    activation: Annotated[str, typer.Option(help="tanh, sigmoid, erf, relu or clipped-relu.")] = "tanh",
    weights: Annotated[str, typer.Option(help="gaussian, or signs (+-scale).")] = "gaussian",
    scale: Annotated[str | None, typer.Option(help="Standard deviation or size; default 1/sqrt(n).")] = None,
    bias: Annotated[str, typer.Option(help="A number or a fraction, as in -8/9.")] = "0.3",
    seed: Annotated[int, typer.Option(help="Seed of the weights.")] = 0,
    den: Annotated[int | None, typer.Option(help="Round weights to multiples of 1/den.")] = None,
    engine: Annotated[str | None, typer.Option(help="Engine, instead of the one that fits.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """The gradient of one neuron at its start, for a parity.

    That of Theorem 12 of Malach & Shalev-Shwartz: hinge loss, all 2^n inputs, readout u = 1, so that
    dL/dw_j = -g_j. Shows how large g is on the bits of the parity and on the others, and whether a step of
    size 1 changes the weights at all in float32 and float64.
    """
    if n > MOST_BITS:
        raise UserError(
            f"n = {n} was given; the engines take seconds up to 10,000, give at most {MOST_BITS:,}."
        )
    if not 1 <= k <= n:
        raise UserError(f"n = {n} and k = {k} were given; a parity has 1 <= k <= n bits, give such k and n.")
    shift = _number("bias", bias)
    vector = _draw(n, weights, scale, seed, den)
    begin = time.perf_counter()
    g = exact.partials(activation, vector, shift, range(k), engine)
    readout = abs(exact.coefficient(activation, vector, shift, range(k), engine=engine))
    used = {"engine": g.choice, "readout_engine": readout.choice}
    found = {
        "neuron": {"n": n, "k": k, "activation": activation, "weights": weights, "scale": scale, "bias": bias}
        | {"seed": seed, "den": den},
        **{what: {"name": each.engine, "reason": each.reason} for what, each in used.items() if each},
        "seconds": time.perf_counter() - begin,
        "worst_relative_error": _finite(np.max(g.relative_error)),
        "readout_relative_error": _finite(readout.relative_error),
    } | _findings(g, readout, vector, k)
    print(json.dumps(found, indent=2) if as_json else _text(found))


def _finite(error: Any) -> float | None:
    """None for an infinite relative error (of a value 0), since JSON has no infinity."""
    return float(error) if isfinite(error) else None


def _size(error: float | None) -> str:
    return "above 1, no digit is right" if error is None or error >= 1 else f"{error:.0e}"


def _number(name: str, text: str) -> Fraction:
    """The exact number: 0.3 is 3/10. Exponents are checked first: a fraction would write out all digits of
    1e999999999.
    """
    try:
        if any(abs(Decimal(part).adjusted()) > 400 for part in text.split("/")):
            raise OverflowError
        number = Fraction(text)
        float(number)
        return number
    except (ValueError, ArithmeticError):
        raise UserError(
            f"--{name} {text} was given; give a number or a fraction of ordinary size, as in 0.3 or -8/9."
        ) from None


def _draw(n: int, weights: str, scale: str | None, seed: int, den: int | None) -> list[Any]:
    size = n**-0.5 if scale is None else _number("scale", scale)
    if float(size) <= 0 or seed < 0 or (den is not None and den < 1):
        raise UserError(
            f"scale {scale}, seed {seed} and den {den} were given; scale and den must be "
            "above 0, seed 0 or more."
        )
    rng = np.random.default_rng(seed)
    if weights == "gaussian":
        drawn = (rng.standard_normal(n) * float(size)).tolist()
    elif weights == "signs":
        drawn = [size if positive else -size for positive in rng.random(n) < 0.5]
    else:
        raise UserError(f"--weights {weights} was given; choose gaussian or signs.")
    return on_lattice(drawn, den) if den else drawn


def _findings(g: Any, readout: Any, vector: list[Any], k: int) -> dict[str, Any]:
    """Sizes of the gradient ``g`` and its effect in floats; log10 too, as values may underflow."""

    def described(number: Any) -> dict[str, Any]:
        digits = None if number.mantissa == 0 else number.log10
        return {"text": str(number), "value": number.value, "log10": digits}

    def changed(dtype: type[np.floating]) -> int:
        before = held.astype(dtype)
        return int(np.count_nonzero(before + g.value.astype(dtype) != before))

    held = np.array([float(each) for each in vector])
    length = float(np.linalg.norm(held))
    sides = {"inside": g[:k], "outside": g[k:]}
    return {
        name: {"smallest": described(side.smallest()), "largest": described(side.largest())}
        for name, side in sides.items()
        if len(side)
    } | {
        "norm": described(g.norm()),
        "readout": described(readout),
        "fourier_gap": described(FourierGap.of(g, np.arange(len(vector)) < k).gap),
        "relative_step": described(g.norm() * (1 / length if length else 0.0)),
        "eps": {"float32": float(np.finfo(np.float32).eps), "float64": float(np.finfo(np.float64).eps)},
        "changed": {"float32": changed(np.float32), "float64": changed(np.float64)},
    }


def _text(found: dict[str, Any]) -> str:
    neuron, n = found["neuron"], found["neuron"]["n"]
    lines = [
        ("neuron", ", ".join(f"{name} {value}" for name, value in neuron.items() if value is not None)),
        ("engine", "{name}: {reason}".format(**found["engine"])),
    ]
    if found["readout_engine"]["name"] != found["engine"]["name"]:
        lines.append(("engine of dL/du", "{name}: {reason}".format(**found["readout_engine"])))
    for side, name in (("inside", "|g_j|, j in I"), ("outside", "|g_j|, j not in I")):
        if side in found:
            lines.append(
                (name, "{} to {}".format(*(found[side][end]["text"] for end in ("smallest", "largest"))))
            )
    lines += [
        ("Fourier gap", found["fourier_gap"]["text"]),
        ("|g|", f"{found['norm']['text']}, which is {found['relative_step']['text']} of |w|"),
        ("|dL/du|", found["readout"]["text"]),
        *(
            (dtype, f"eps {found['eps'][dtype]:.1e}: a step of size 1 changes {count:,} of {n:,} weights")
            for dtype, count in found["changed"].items()
        ),
        ("rounding", f"relative error of g at most {_size(found['worst_relative_error'])}"),
        ("", f"relative error of dL/du {_size(found['readout_relative_error'])}"),
        ("seconds", f"{found['seconds']:.2f}"),
    ]
    return "\n".join(f"{name:<20}{text}" for name, text in lines)
