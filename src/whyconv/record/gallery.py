"""The gallery, docs/gallery: a page for every study, its answer and figures drawn from kept rows.

Also README's table of what priors are worth, and the table of what is recorded. All of it is made from the
record by ``make gallery``; a page names the digest of its rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyconv import registry
from whyconv.criteria import FRESH
from whyconv.criteria import file as criterion_file
from whyconv.errors import UserError
from whyconv.measure.estimate import Estimate
from whyconv.record import CHECK, UNSEEN, Kept, aged, best, find, run_of
from whyconv.record.making import CORES, Wanted, all_wanted
from whyconv.report.embedding import files
from whyconv.runner.folder import write_whole
from whyconv.runs import Run
from whyconv.settings import configure
from whyconv.spec import digest
from whyconv.studies import Study
from whyconv.studies.answers import LOCALITY, Answer, words
from whyconv.text import count, duration, rough_duration, seeds
from whyconv.verdict import control_fault

FOLDER = "docs/gallery"
BEGIN, END = "<!-- made by make gallery -->", "<!-- end -->"
"""Around what is replaced in README."""
SHOWN = 12
"""Lines of a table that a page shows."""
_COORDINATES = re.compile(r' (?:d|points|x|y|x1|x2|y1|y2|cx|cy)="[^"]*"|translate\([^)]*\)')
_LONG = re.compile(r"-?\d+\.\d\d+")
MET = "*consistent*"
"""The verdict of a study whose criterion is met and whose control flips."""
SHARED, POOLED = "sharing", "pooling"
WIDTH = 260
"""Of a thumbnail, in pixels."""


@dataclass(frozen=True)
class Entry:
    """A study with its recorded run to show (:func:`whyconv.record.best`), and that on unseen seeds, if there
    are such.
    """

    study: type[Study]
    kept: Kept | None
    run: Run | None
    unseen: Run | None

    @property
    def name(self) -> str:
        return self.study.name


def entries() -> Iterator[Entry]:
    """Every study of a paper, by name."""
    for study in registry.pieces("study"):
        if criterion_file(study) is not None:
            kept, other = best(study), find(study.name, UNSEEN)
            run = run_of(kept) if kept else None
            fresh = run if run and _unseen(run) else run_of(other) if other else None
            yield Entry(study, kept, run, fresh)


def _unseen(run: Run) -> bool:
    return min(point.trial.seed for point in run.points) >= FRESH


def write(root: Path) -> None:
    """Write all pages and figures below ``root``, and the table in its README."""
    place = root / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    found, wanted = list(entries()), all_wanted()
    made = {place / "README.md"}
    for entry in found:
        drawings = dict(figures(entry.run)) if entry.run else {}
        pictures = list(pictured(entry))
        captions = {name: caption for name, caption, _ in pictures}
        for name, svg in {**drawings, **{name: svg for name, _, svg in pictures}}.items():
            write_whole(place / name, svg.encode())
        write_whole(place / f"{entry.name}.md", page(entry, list(drawings), captions, wanted).encode())
        made |= {place / name for name in (*drawings, *captions, f"{entry.name}.md")}
    write_whole(place / "README.md", index(found, wanted).encode())
    for old in set(place.iterdir()) - made:
        old.unlink()
    readme = root / "README.md"
    write_whole(readme, with_table(readme.read_text("utf-8"), worths(found)).encode())


def figures(run: Run) -> Iterator[tuple[str, str]]:
    """The figures of a run as SVG, by name of their file."""
    for number, chart in enumerate(run.figures().values(), 1):
        yield f"{run.study.name}-{number}.svg", _small(files(chart).svg)


def pictured(entry: Entry) -> Iterator[tuple[str, str, str]]:
    """File, caption and SVG of the problem's pictures, as it was run or as its first preset is.

    Equal pictures share a file.
    """
    try:
        study = entry.run.study if entry.run else configure(entry.name, next(iter(entry.study.presets)))
        found = study.pictures()
    except UserError:  # images that are not here
        found = {}
    for caption, drawn in found.items():
        svg = _small(drawn)
        yield f"problem-{digest(svg)[:8]}.svg", caption, svg


def _small(svg: str) -> str:
    """Coordinates to a tenth of a pixel: half the bytes, and nothing that can be seen. Texts stay."""
    return _COORDINATES.sub(lambda place: _LONG.sub(_to_a_tenth, place[0]), svg) + "\n"


def _to_a_tenth(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")


def page(entry: Entry, drawings: list[str], pictures: Mapping[str, str], wanted: list[Wanted]) -> str:
    """The page of a study, as Markdown."""
    study, run = entry.study, entry.run
    lines = [f"# {study.title}", f"`{entry.name}` · {study.reference}"]
    if run is None:
        lines.append("**No rows of this study are recorded yet**, so this page has no answer and no figure.")
    else:
        lines += [f"**{run.answer}**", _verdict(run) + _control(run)]
        if entry.unseen and entry.unseen is not run:
            again = entry.unseen
            lines.append(
                f"On seeds that no run had used before ([fresh seeds](../fresh-seeds.md), quick preset): "
                f"{_verdict(again)}{_control(again)} {again.answer}"
            )
        lines += [f"![{title}]({name})" for title, name in zip(run.figures(), drawings, strict=True)]
        if run.answers[1:]:
            lines.append("\n".join(f"- {answer.sentence}" for answer in run.answers[1:]))
    lines += ["## The problem", study.summary() + _words(study)]
    lines += [f"![The problem]({name})\n\n*{caption}.*" for name, caption in pictures.items()]
    lines += ["## How it is judged", study.criterion, f"Control: {study.broken}"]
    if run is not None and entry.kept is not None:
        lines += [f"## {title}\n\n{_table(frame)}" for title, frame in run.tables.items() if len(frame)]
        lines += ["## Where these rows are from", _source(run, entry.kept)]
    lines += ["## Run it", _commands(entry, wanted), "[All studies](README.md)"]
    return "\n\n".join(lines) + "\n"


def _verdict(run: Run) -> str:
    """The verdict and what it means; that a run is only shown, its conclusion says."""
    return f"*{run.verdict}*: {run.conclusion}" if run.judgement else run.conclusion


def _words(study: type[Study]) -> str:
    rest = (study.__doc__ or "").partition("\n\n")[2]
    return "\n\n" + " ".join(rest.split()) if rest.strip() else ""


def _control(run: Run) -> str:
    return f" Control: {run.control_said}." if run.control_said else ""


def _source(run: Run, kept: Kept) -> str:
    used = sorted({point.trial.seed for point in run.points})
    processors = ", ".join(sorted({str(each.get("cpu", "?")) for each in kept.environments.values()}))
    old = f" Made by earlier versions: {'; '.join(aged(run))}." if aged(run) else ""
    return (
        f"{count(len(run.points), 'trial')}, {seeds(used)}, at most {duration(kept.seconds)} of one core "
        f"({processors}); recorded {kept.made}, digest `{kept.digest[:16]}`. {run.said_of_criterion}"
        f"{_seen(run, used)}{old}"
    )


def _seen(run: Run, used: list[int]) -> str:
    """What it means that all rows are newer than the criterion: little, on seeds that had been seen."""
    if run.standing is None or run.standing.before:
        return ""
    link = "[fresh seeds](../fresh-seeds.md)"
    if min(used) >= FRESH:
        return f" No run had used these seeds before the criterion was frozen ({link})."
    return (
        " But earlier code had run these seeds before the criterion was frozen, so the rows confirm nothing "
        f"new ({link})."
    )


def _commands(entry: Entry, wanted: list[Wanted]) -> str:
    lines = ["| command | forecast on two cores | rows |", "|---|---|---|"]
    for each in wanted:
        if each.study.name == entry.name and each.label != CHECK:
            kept = find(entry.name, each.label)
            rows = f"recorded {kept.made}" if kept else "not recorded yet" if each.short else "longer"
            lines.append(f"| `{each.command}` | {rough_duration(each.forecast.seconds)} | {rows} |")
    return "\n".join(lines)


def _table(frame: Any) -> str:
    head = ["| " + " | ".join(map(str, frame.columns)) + " |", "|" + "---|" * len(frame.columns)]
    shown = frame.astype(object).where(frame.notna(), "–").head(SHOWN)
    lines = [f"| {' | '.join(map(_cell, line))} |" for line in shown.itertuples(index=False)]
    rest = [f"\n{len(frame) - SHOWN} more lines."] if len(frame) > SHOWN else []
    return "\n".join([*head, *lines, *rest])


def _cell(value: Any) -> str:
    text = (
        value.cell
        if isinstance(value, Estimate)
        else f"{value:.4g}"
        if isinstance(value, float)
        else str(value)
    )
    return text.replace("|", "\\|")


def index(found: list[Entry], wanted: list[Wanted]) -> str:
    """The page with a thumbnail and the answer of every study."""
    lines = [
        "# Gallery",
        "Every study, with its answer where its rows come with the package. Made by `make gallery` from "
        "`make record`; nothing here was written by hand.",
        "| study | answer |\n|---|---|\n" + "\n".join(map(_line, found)),
        "## What is recorded",
        f"Forecasts are for {CORES} cores. The record holds presets of at most 90 minutes, and `mnist` of "
        "`malach.fig3` and `malach.fig4`. A preset that is *not recorded yet* is added by `make record`; a "
        "*longer* one is run by its command alone.",
        table(wanted),
    ]
    return "\n\n".join(lines) + "\n"


def _line(entry: Entry) -> str:
    link = f"[`{entry.name}`]({entry.name}.md)"
    if entry.run is None:
        return f"| {link}<br>{entry.study.title} | No rows recorded yet. |"
    picture = f'<a href="{entry.name}.md"><img src="{entry.name}-1.svg" width="{WIDTH}" alt=""></a>'
    said = f"{entry.run.answer} {_verdict(entry.run)}"
    return f"| {picture}<br>{link} | **{entry.study.title}** {said.replace('|', chr(92) + '|')} |"


def table(wanted: list[Wanted] | None = None) -> str:
    """Every preset: its forecast, and whether its rows are recorded."""
    lines = ["| study | preset | forecast | rows |", "|---|---|---|---|"]
    for each in wanted if wanted is not None else all_wanted():
        kept = find(each.study.name, each.label)
        rows = (
            f"{count(len(kept.rows), 'row')}, {kept.made}, `{kept.digest[:12]}`" if kept
            else "not recorded yet" if each.short else "longer"
        )  # fmt: skip
        forecast = rough_duration(each.forecast.seconds)
        lines.append(f"| `{each.study.name}` | {each.label} | {forecast} | {rows} |")
    return "\n".join(lines)


def worths(found: list[Entry]) -> str:
    """What priors are worth by the recorded rows, as README shows it: of each study the first answer on every
    prior. Of each paper and prior one line is in sight, a factor if there is one, if the prior is one of the
    three and the study's criterion is met and its control flips; the others unfold.
    """
    said: dict[tuple[str, str], tuple[Run, Answer]] = {}
    again = {
        each.name: "these rows" if each.unseen is each.run else _verdict_word(each.unseen)
        for each in found
        if each.unseen and each.unseen.judgement
    }
    for run in [entry.run for entry in found if entry.run]:
        for answer in run.answers if run.judgement else []:
            if answer.known:
                said.setdefault((run.study.name, answer.prior), (run, answer))
    first: dict[tuple[str, str], tuple[str, str]] = {}
    for name, prior in sorted(said, key=lambda place: said[place][1].kind != "factor"):
        if _of_the_three(prior) and _verdict_word(said[name, prior][0]) == MET:
            first.setdefault((name.partition(".")[0], prior), (name, prior))
    head = "| prior | worth | in | where | data | study | verdict | on unseen seeds |\n" + "|---" * 8 + "|"
    lines = {place: _worth(*pair, again.get(place[0], "not run yet")) for place, pair in said.items()}
    shown = [line for place, line in lines.items() if place in first.values()]
    rest = [line for place, line in lines.items() if place not in first.values()]
    if rest:
        shown += ["", f"<details><summary>{count(len(rest), 'more line')}</summary>", "", head, *rest, ""]
        shown += ["</details>"]
    return "\n".join([head, *shown])


def _of_the_three(prior: str) -> bool:
    """Whether a prior is locality, sharing or pooling, or several of them, in whatever amount or place.

    >>> _of_the_three("locality, sharing and pooling"), _of_the_three("weight sharing by 20")
    (True, True)
    >>> _of_the_three("sharing, with pooling"), _of_the_three("a second layer")
    (True, False)
    """
    name = re.split(r":| by |, with", prior)[0].replace("weight sharing", SHARED)
    return set(re.split(", | and ", name)) <= {LOCALITY, SHARED, POOLED}


def _verdict_word(run: Run) -> str:
    """The verdict of a judged run, and if its control did not flip, that."""
    assert run.judgement is not None
    control = run.judgement.control.verdict
    fault = control_fault(run.verdict, control)
    return f"*{run.verdict}*" + (f", but the control did not flip: *{control}*" if fault else "")


def _worth(run: Run, answer: Answer, again: str) -> str:
    name = run.study.name
    link = f"[`{name}`]({FOLDER}/{name}.md)"
    parts = (
        answer.prior, answer.amount, words(answer.unit), answer.range, answer.data, link, _verdict_word(run),
        again,
    )  # fmt: skip
    return f"| {' | '.join(parts)} |"


def with_table(readme: str, made: str) -> str:
    """README with its table of worths replaced."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UserError(f"README.md lacks {BEGIN} or {END}; put both where the table belongs.")
    return f"{before}{BEGIN}\n{made}\n{END}{after}"
