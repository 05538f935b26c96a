"""An audit in words, for terminal and page: numbers, the data, the order, savings, the window, the forecast.

The result is a :class:`whyconv.auditing.result.Result`; this room does not import that one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from whyconv.text import count

if TYPE_CHECKING:
    from whyconv.auditing.result import Described, Forecast, Order, Result, Saving

METRICS = {
    "error": "error",
    "balanced": "balanced error",
    "logloss": "log loss",
    "mse": "mean squared error",
}
ORDER = {"matters": "YES", "not seen": "NOT SEEN", "not judged": "NOT JUDGED"}
"""Answers to the question whether the order matters."""
NOUNS = {"series": ("series", "step"), "image": ("images", "pixel"), "table": ("rows", "column")}


def level(value: float | None) -> str:
    """An error: two decimals, three if it is small; a dash if it is not known.

    >>> level(0.35), level(0.083), level(1.0), level(12.345), level(None)
    ('.35', '.083', '1.00', '12.3', '–')
    """
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 10:
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    text = f"{value:.2f}" if abs(value) >= 0.0995 else f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 0.9995 else text


def times(value: float) -> str:
    """A factor without its sign: two digits.

    >>> times(4.31), times(0.94), times(13.62), times(128.0), times(0.0)
    ('4.3', '.94', '13.6', '128', '0')
    """
    if value == 0:
        return "0"
    if value < 0.995:
        return f"{value:.2f}".replace("0.", ".", 1)
    return f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def span(low: float | None, high: float | None) -> str:
    """An interval of factors; either end may be open."""
    return f"[{'open' if low is None else times(low)}, {'open' if high is None else times(high)}]"


def between(low: float | None, high: float | None) -> str:
    """An interval of errors; empty if there is none."""
    return "" if low is None or high is None else f"[{level(low)}, {level(high)}]"


def saved(saving: Saving, sign: str = "x") -> str:
    """The factor of a saving with its interval; *at least* and *at most* where a verdict has an open end.

    Empty if nothing is known.
    """
    low, high = saving.low, saving.high
    if low is None and high is None:
        return "" if saving.factor is None else f"{times(saving.factor)}{sign}"
    if saving.verdict == "saves" and high is None and low is not None:
        return f"at least {times(low)}{sign}"
    if saving.verdict == "costs" and low is None and high is not None:
        return f"at most {times(high)}{sign}"
    factor = "" if saving.factor is None else f"{times(saving.factor)}{sign} "
    return f"{factor}{span(low, high)}"


def compared_at(result: Result) -> str:
    """The error at which examples are counted; empty if there is none."""
    base = next((each for each in result.savings if each.prior == "together"), None)
    if base is None or base.at is None:
        return ""
    metric = METRICS[result.data.metric]
    return f"at {'an' if metric[0] in 'aeiou' else 'a'} {metric} of {level(base.at)}"


def at_full(result: Result, saving: Saving) -> str:
    """What the two networks of a saving reach with all examples; empty if one was not trained."""
    errors = {each.name: each.error for each in result.arms}
    if not {saving.without, saving.given} <= errors.keys():
        return ""
    pair = (f"{name} {level(errors[name])}" for name in (saving.without, saving.given))
    return f"with all examples {', '.join(pair)}"


def verdict(saving: Saving) -> str:
    """The verdict of a saving, complete: what *no difference* means, and what would decide."""
    beyond = " beyond 1.5x" if saving.verdict == "no difference" else ""
    return f"{saving.verdict}{beyond}" + (f": {saving.why.rstrip('.')}" if saving.why else "")


def traded(saving: Saving) -> str:
    """How many examples do instead of how many; empty if that is not known or not decided."""
    if saving.needed is None or saving.instead_of is None or saving.verdict not in ("saves", "costs"):
        return ""
    return f"{count(saving.needed, 'example')} instead of {saving.instead_of:,}"


def data(about: Described) -> str:
    """The data in a few words.

    >>> from whyconv.auditing.result import Described
    >>> data(Described("digits", 5000, (1, 40, 3), 10, "error")) + "; " + data(
    ...     Described("houses", 500, (1, 8, 1), None, "mse", "table"))
    '5,000 series of 40 steps with 3 channels, 10 classes; 500 rows of 8 columns, a real target'
    """
    rows, columns, channels = about.shape
    noun, unit = NOUNS.get(about.grid, NOUNS["series"])
    if about.grid == "image":
        form = f"{rows} x {columns} pixels" + (
            {1: "", 3: " in colour"}.get(channels, f" with {channels} channels")
        )
    else:
        form = count(rows * columns, unit)
        if about.grid == "table":
            form += " (words one-hot)" if channels > 1 else ""
        elif channels > 1:
            form += f" with {channels} channels"
    labels = "a real target" if about.classes is None else count(about.classes, "class", "classes")
    return f"{about.examples:,} {noun} of {form}, {labels}"


def order(found: Order) -> str:
    """What the test of the order found."""
    if found.here is None or found.permuted is None:
        return found.why or "there is no answer yet"
    arm = f"{found.arm} " if found.arm else ""
    orders = count(found.orders, "random order") if found.orders else "random orders"
    chance = "" if found.p is None else f" (p = {_chance(found.p)})"
    why = f"; {found.why.rstrip('.')}" if found.why else ""
    return f"{arm}{level(found.here)} here, {level(found.permuted)} in {orders}{chance}{why}"


def helps(found: Order) -> bool:
    """Whether order matters because networks do better in it than in random ones."""
    better = found.here is None or found.permuted is None or found.here < found.permuted
    return found.verdict == "matters" and better


def _chance(p: float) -> str:
    return f"{p:.2g}".replace("0.", ".", 1) if p < 1 else "1"


def window(result: Result) -> str:
    """The window that tuning chose; empty if none was, or if order was not seen to matter."""
    rows, columns, _ = result.data.shape
    if result.window is None:
        return ""
    _, unit = NOUNS.get(result.data.grid, NOUNS["series"])
    if result.data.grid == "image":
        wide = f"{result.window} x {result.window} of {rows} x {columns} pixels"
    else:
        wide = f"{result.window} of {columns} {unit}s"
    if helps(result.order):
        return f"what matters lies within {wide}"
    return f"{wide} did best in tuning"


def more_data(forecast: Forecast) -> str:
    """What more data would give, and how far that can be trusted."""
    if forecast.error is None:
        return "no forecast" + (f": {forecast.backtest.rstrip('.')}" if forecast.backtest else "")
    range_ = between(forecast.low, forecast.high)
    text = f"{forecast.m:,} would give about {level(forecast.error)}{range_ and f' {range_}'}"
    if forecast.target is not None:
        enough = (
            f"{forecast.needed:,} for {level(forecast.target)}"
            if forecast.needed is not None
            else f"{level(forecast.target)} needs more than that, or cannot be reached"
        )
        text += f"; {enough}"
    return f"{text}; beyond that no forecast"


def lead(result: Result) -> Iterator[str]:
    """The answer in sentences, for someone who has not read a paper on it."""
    matters = {
        "matters": "The order of the features matters here: neighbours belong together.",
        "not seen": "No use of the order of the features was seen: random orders do as well.",
        "not judged": "Whether the order of the features matters was not judged.",
    }
    if result.order.verdict == "matters" and not helps(result.order):
        yield "The order of the features matters here, but not for good: networks do better in random orders."
    else:
        yield matters[result.order.verdict]
    by_name = {each.prior: each for each in result.savings}
    groups = {
        word: [name for name in ("locality", "sharing", "pooling") if by_name[name].verdict == word]
        for word in ("saves", "costs", "no difference", "undecided")
    }
    said = {
        "saves": "{} saves examples",
        "costs": "{} costs examples",
        "no difference": "{} makes no difference beyond a factor of 1.5",
        "undecided": "{} is undecided",
    }
    parts = [said[word].format(_joined(names)) for word, names in groups.items() if names]
    for word in ("saves", "costs", "makes", "is"):
        parts = [_plural(part, word) for part in parts]
    if parts:
        text = "; ".join(parts)
        yield f"{text[0].upper()}{text[1:]}."
    together = by_name["together"]
    if trade := traded(together):
        yield f"Together they need {trade}."
    elif together.verdict in ("saves", "costs"):
        yield f"Together they are worth a factor of {saved(together, '')} in examples."
    if not parts and by_name["locality"].why:
        yield f"Nothing else was judged: {by_name['locality'].why.rstrip('.')}."


def _plural(part: str, word: str) -> str:
    """Several subjects take the plain verb."""
    verbs = {"saves": "save", "costs": "cost", "makes": "make", "is": "are"}
    subject, found, rest = part.partition(f" {word} ")
    return f"{subject} {verbs[word]} {rest}" if found and " and " in subject else part


def _joined(names: list[str]) -> str:
    """a; a and b; a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
