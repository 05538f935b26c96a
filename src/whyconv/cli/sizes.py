"""``whyconv exact sizes``: what Theorem 4 and Corollary 5 of Malach & Shalev-Shwartz ask for."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from whyconv.papers.malach.exact.bounds import better_travel, derived_terms, local_terms, step_size
from whyconv.papers.malach.exact.sizes import corollary_samples, corollary_sizes
from whyconv.papers.malach.exact.sizes import sizes as needed


def sizes(
    n_bits: Annotated[int, typer.Option("--n", help="Bits of an input.")],
    k_window: Annotated[int, typer.Option("--k", help="Bits of the pattern, 1 to n.")],
    eps: Annotated[float, typer.Option("--eps", help="Accuracy, above 0 and at most 1.")] = 0.1,
    delta: Annotated[float, typer.Option("--delta", help="Probability of failure, between 0 and 1.")] = 0.1,
    cap: Annotated[float, typer.Option("--c", help="Bound c on the activation.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What Theorem 4 asks for: filters, steps, step size, examples.

    Filters q, steps T, step eta and examples m with which GD on a CNN learns a k-pattern of n bits.
    """
    found = report(n_bits, k_window, eps, delta, cap)
    print(json.dumps(found, indent=2) if as_json else text(found))


def report(n_bits: int, k_window: int, eps: float, delta: float, cap: float = 1.0) -> dict[str, Any]:
    """The sizes, the three terms of Theorem 4 as printed and as corrected, and Corollary 5's logarithms.

    *sizes* are sufficient, constants included (:func:`.sizes.sizes`). *terms*
    evaluates the proof's last line there at the corrected eta, at the printed one, and at the one that makes
    its first two terms least (*least*; at the price of the third, which T divides). *corollary* has the
    orders of Corollary 5 with constant 1 and k = log2 n, whatever k was given; None for n = 1, where
    log2 n is 0.
    """
    size = needed(n_bits, k_window, eps, delta, cap)
    printed_step = step_size(n_bits, size.width, size.steps, "printed")
    least_step = better_travel(n_bits, k_window, size.width, cap) / size.steps
    bounds = {
        "corrected": (size.step, size.terms),
        "printed": (printed_step, derived_terms(n_bits, k_window, size.width, size.steps, printed_step, cap)),
        "least": (least_step, derived_terms(n_bits, k_window, size.width, size.steps, least_step, cap)),
        "lcn": (size.step, local_terms(n_bits, k_window, size.width, size.steps, cap)),
    }
    orders = {flag: corollary_sizes(n_bits, eps, printed=flag) for flag in (True, False)}
    corollary = {
        "printed": {"q": orders[True][0], "T": orders[True][1], "logs": ["log^2 n", "log n"]},
        "corrected": {"q": orders[False][0], "T": orders[False][1], "logs": ["log^4 n", "log^2 n"]},
    }
    return {
        "given": {"n": n_bits, "k": k_window, "eps": eps, "delta": delta, "c": cap},
        "sizes": {"q": size.width, "T": size.steps, "eta": size.step, "m": size.samples},
        "constant_of_m": size.samples / corollary_samples(n_bits, k_window, size.width, eps, delta),
        "terms": {
            name: {"eta": step, "terms": list(terms), "sum": sum(terms)}
            for name, (step, terms) in bounds.items()
        },
        "corollary": corollary if n_bits > 1 else None,
    }


def text(found: dict[str, Any]) -> str:
    """The report as text."""
    size = found["sizes"]
    bounds = [
        ("eta T = sqrt(n/q), as corrected", "corrected"),
        ("eta = sqrt(n/(q T)), as printed", "printed"),
        ("eta T = (2^k / (2 c n q))^(1/3)", "least"),
        ("as corrected, without weight sharing", "lcn"),
    ]
    lines = [
        "n = {n}, k = {k}, eps = {eps:g}, delta = {delta:g}, c = {c:g}".format(**found["given"]),
        "",
        f"q    {size['q']:,} filters",
        f"T    {size['T']:,} steps",
        f"eta  {size['eta']:.6g} = sqrt(n) / (sqrt(q) T)",
        f"m    {size['m']:,} examples = {found['constant_of_m']:.3g} eps^-2 n k q log(n k q / delta)",
        "",
        "These suffice, constants included: eps/4 for the bound's first two terms, eps/4 for its third,",
        "eps/2 for the sampling error; delta/2 for the initial weights, delta/2 for the sample. Then the",
        "iterate of least training loss errs on at most eps of the inputs (0-1 error, not hinge loss).",
        "",
        f"{'bound on the average loss':<38}{'first':>11}{'second':>11}{'third':>11}{'sum':>11}",
    ]
    for label, name in bounds:
        row = found["terms"][name]
        lines.append(f"{label:<38}" + "".join(f"{value:11.4g}" for value in (*row["terms"], row["sum"])))
    lines += [
        "first 2 c (eta T)^2 n k^2 2^k, second 2 (2^k k)^2 / (q eta T), third c^2 eta n q",
        "The eta T of row 3 makes first + second least; its third term, which T divides, is "
        f"{found['terms']['least']['eta'] / found['terms']['corrected']['eta']:.3g} times that of row 1.",
        "",
    ]
    if found["corollary"] is None:
        return "\n".join([*lines, "Corollary 5 has k = log2 n, so its orders need n >= 2."])
    lines += [
        f"{'Corollary 5 (k = log2 n, constants 1)':<38}{'q':>11}{'T':>11}  q, T over eps^-2 n^3",
    ]
    for name, row in found["corollary"].items():
        lines.append(f"{name:<38}{row['q']:11.4g}{row['T']:11.4g}  {', '.join(row['logs'])}")
    return "\n".join(lines)
