"""The command line, a thin layer over :mod:`whyconv.api`.

Exit codes: 0 good; 1 a trial failed, a verdict is not as recorded, or a store is damaged; 2 bad input;
130 interrupted.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from whyconv import __version__, api, registry
from whyconv.cli import listing, terminal
from whyconv.cli.audit import audit, is_audit, report_audits
from whyconv.cli.cite import cite
from whyconv.cli.cluster import Cluster, Slots, opened
from whyconv.cli.cluster import described as cluster_described
from whyconv.cli.compare import compare
from whyconv.cli.data import Data, data_app, use
from whyconv.cli.dry_run import described, planned
from whyconv.cli.errata import errata
from whyconv.cli.errors import (
    finish_output,
    leave_output,
    output_works,
    require_output,
    require_text,
    sentence_for,
)
from whyconv.cli.exact import exact_app
from whyconv.cli.json_output import json_text, run_as_data
from whyconv.cli.merge import merge
from whyconv.cli.page import page
from whyconv.cli.profile import profile
from whyconv.cli.sample import sample
from whyconv.cli.stress import as_data, print_found, stressed
from whyconv.cli.worth import worth
from whyconv.errors import UserError
from whyconv.paths import given_path
from whyconv.report.assemble import assemble
from whyconv.runner.contents import shown
from whyconv.runner.events import Interrupted, TrialFailed
from whyconv.runner.export import export as export_rows
from whyconv.runner.opened import open_folder
from whyconv.runner.recompute import Recomputed, recompute
from whyconv.runner.verify import Findings
from whyconv.runner.verify import verify as verify_folder
from whyconv.runs import Run, runs_of
from whyconv.settings import chosen_studies, configure
from whyconv.stress import unsearched
from whyconv.text import count
from whyconv.waiting import planning

app = typer.Typer(
    name="whyconv",
    help="What are locality, weight sharing and max-pooling worth? Runs and judges theorems and figures.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog="whyconv COMMAND --help says more, with examples.",
)

START = """Start with
  whyconv run brutzkus.fig3a    what all three priors are worth together   (1 min)
  whyconv run lahoti.alignment  what sharing and locality are worth apart  (1 min)
  whyconv check malach          every statement of a paper, decided        (1 min)
then whyconv worth, and whyconv report whyconv-runs.
"""
"""Times on two cores."""
STRESS_FOLDER = Path("whyconv-runs/stress")

GROUPS = {"exact": exact_app, "data": data_app}
for _name, _group in GROUPS.items():
    app.add_typer(_group, name=_name)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit()


Load = Annotated[list[str] | None, typer.Option(help="A Python file of your own pieces; may be repeated.")]
Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", parser=given_path, help="Folder of rows, made by run --out DIR."),
]


@app.command(
    "list", epilog="Examples: whyconv list; whyconv list brutzkus.fig3a; whyconv list k-pattern --json"
)
def list_(
    name: Annotated[
        str | None,
        typer.Argument(help="A paper; a study, for its grid and forecast; any piece, for its settings."),
    ] = None,
    load: Load = None,
    data: Data = None,
    slots: Slots = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List studies, claims and pieces, or show one in detail."""
    use(data)
    for file in load or ():
        registry.load(file)
    listed = registry.everything() if (name, slots) == (None, None) else listing.one(name or "", slots)
    print(json.dumps(listed, indent=2) if as_json else listing.text(listed))


@app.command(epilog="Example: whyconv run brutzkus.fig3a --preset paper --set task.positions=20 --out my-run")
def run(
    study: Annotated[
        list[str], typer.Argument(metavar="STUDY|PAPER", help="Studies, all of a paper, or all.")
    ],
    preset: Annotated[
        str, typer.Option(help="quick takes minutes, paper has the paper's sizes; list STUDY shows all.")
    ] = "quick",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting, as in task.positions=20.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Number of repetitions.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=given_path, help="Folder for rows; default whyconv-runs."),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes; default one per core.")] = None,
    cluster: Cluster = None,
    load: Load = None,
    data: Data = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed trials again.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failed trial.")] = False,
    limit: Annotated[
        float, typer.Option(help="Kill a trial that reports no progress for this many seconds.")
    ] = 300.0,
    strict_environment: Annotated[
        bool, typer.Option("--strict-environment", help="Recompute rows of other environments.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Run even what does not fit into cores, memory or disk.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show plan and forecast; run and write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run a study's missing trials, then print means and verdict. The same command again resumes."""
    use(data)
    where = cluster_described(cluster, workers) if dry_run else []
    for file in load or ():
        registry.load(file)
    names = [name for each in study for name in chosen_studies(each)]
    for name in names[1:]:
        configure(name, preset, set_ or (), seeds)  # refuses bad settings before the first study runs
    if dry_run:
        plans = [planned(configure(name, preset, set_ or (), seeds), workers, preset) for name in names]
        print(json_text(plans[0] if len(names) == 1 else plans) if as_json else described(plans, where))
        return
    options: dict[str, Any] = {"retry_failed": retry_failed, "fail_fast": fail_fast, "limit": limit}
    options |= {"strict_environment": strict_environment, "force": force}
    done = []
    try:
        with opened(cluster, workers) as place:
            for name in names:
                if len(names) > 1:
                    print(name, file=sys.stderr)
                each = (name, preset, set_ or (), seeds, out, workers, load or (), data)
                done.append(api.run(*each, cluster=place, **options))
    except (Interrupted, TrialFailed) as stop:
        terminal.complain(str(stop))
        raise typer.Exit(130 if isinstance(stop, Interrupted) else 1) from None
    _told(done, load or [], as_json)
    if any(each.failed for each in done):
        raise typer.Exit(1)


def _told(done: list[Run], load: list[str], as_json: bool) -> None:
    """What finished runs say: one in full, several as a table of verdicts."""
    if as_json:
        results = [run_as_data(each) for each in done]
        print(json_text(results[0] if len(done) == 1 else results))
        return
    if len(done) == 1:
        terminal.print_answers(done[0])
        terminal.print_means(done[0])
        terminal.print_judgement(done[0])
        terminal.print_tables(done[0].tables)
    else:
        terminal.print_verdicts([], done)
    words = ["whyconv", "report", str(done[0].out), *(word for file in load for word in ("--load", file))]
    print(f"Rows: {done[0].out}. Figures: {shlex.join(words)}")


for _command, _example in (
    (profile, "Example: whyconv profile brutzkus.fig3a"),
    (worth, "Examples: whyconv worth; whyconv worth my-run --json"),
    (sample, "Example: whyconv sample signal --set patches=10 --m 10000 --out x.npz"),
    (compare, "Example: whyconv compare my-run other-run"),
    (merge, "Example: whyconv merge whole shard-1 shard-2"),
    (page, "Examples: whyconv page; whyconv page --out my-run --no-open --port 8800"),
    (cite, "Examples: whyconv cite brutzkus.lemma5.2; whyconv cite brutzkus.fig3a --bibtex"),
    (errata, "Examples: whyconv errata; whyconv errata malach.cor5; whyconv errata --bibtex"),
    (audit, "Examples: whyconv audit digits.npz; whyconv audit homes.csv --label price --metric mse"),
):
    app.command(epilog=_example)(_command)


@app.command(epilog="Examples: whyconv check brutzkus; whyconv check malach.thm12 --stress --minutes 10")
def check(
    which: Annotated[str, typer.Argument(metavar="[CLAIM|PAPER|all]", help="Claims to decide.")] = "all",
    load: Load = None,
    stress: Annotated[
        bool, typer.Option("--stress", help="Search for counterexamples and the cases nearest to a bound.")
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(help="How long --stress searches, 1 by default; it resumes.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=given_path, help="Where --stress keeps its record."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Decide claims, each with its controls. Exit 0 only if all are as recorded and every control flips."""
    if stress:
        folder = out or STRESS_FOLDER
        found = stressed(which, load or [], folder, 1.0 if minutes is None else minutes, quiet=as_json)
        left_out = unsearched(api.chosen_claims(which))
        if as_json:
            print(json_text(as_data(found, left_out)))
        else:
            print_found(found, folder, left_out)
        if any(each.contradicted or each.error for each in found.values()):
            raise typer.Exit(1)
        return
    if out is not None or minutes is not None:
        raise UserError("--out and --minutes go with --stress alone; add it or leave them out.")
    claims = api.check(which, load or (), watch=terminal.announcer(as_json))
    good = [api.as_expected(claim) for claim in claims]
    if as_json:
        print(json_text(claims))
    else:
        terminal.print_claims(claims, good)
        each = "" if len(good) == 1 else "each "
        tally = f"{sum(good)} of {count(len(good), 'claim')} as recorded"
        print(f"{tally}, {each}with a control that flips it." if any(good) else f"{tally}.")
    if not all(good):
        raise typer.Exit(1)


@app.command(epilog="Example: whyconv report whyconv-runs --check brutzkus")
def report(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", parser=given_path, help="Default DIR/report.html.")
    ] = None,
    check: Annotated[
        str | None, typer.Option(metavar="CLAIM|PAPER|all", help="Claims to decide and show.")
    ] = None,
    load: Load = None,
    data: Data = None,
) -> None:
    """Write one HTML file that holds all: answers, figures, verdicts.

    It needs no network, and has the commands, seeds and environments, too.
    """
    use(data)
    with planning():
        found = open_folder(folder, load or ())
    terminal.note(found.problems, found.remarks)
    if is_audit(found):
        report_audits(found, out or folder / "report.html")
        raise typer.Exit(1 if found.problems else 0)
    claims = api.check(check, load or (), watch=terminal.announcer()) if check else []
    runs = runs_of(found)
    path = assemble(found, runs, out or folder / "report.html", claims, _command_line())
    terminal.note((), [run.unfit for run in runs if run.unfit])
    terminal.print_verdicts(claims, [run for run in runs if not run.unfit])
    print(f"Report: {path}")
    if found.problems:
        raise typer.Exit(1)


@app.command(epilog="Example: whyconv export whyconv-runs --parquet")
def export(
    folder: Folder,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values (the default).")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="Parquet; needs whyconv[parquet].")] = False,
    load: Load = None,
) -> None:
    """Write the rows as tables into DIR/export."""
    if csv and parquet:
        raise UserError("--csv and --parquet were both given; choose one.")
    with planning():
        done = export_rows(folder, "parquet" if parquet else "csv", load or ())
    terminal.note(done.problems, done.remarks)
    for path in done.paths:
        print(path)
    if done.problems:
        raise typer.Exit(1)


@app.command(epilog="Examples: whyconv verify whyconv-runs; whyconv verify whyconv-runs --deep --rows 5")
def verify(
    folder: Folder,
    deep: Annotated[bool, typer.Option("--deep", help="Recompute a few rows and compare bytes.")] = False,
    rows: Annotated[
        int | None, typer.Option(metavar="N", help="Rows that --deep recomputes; default 3.")
    ] = None,
    load: Load = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check everything stored, and name what is damaged or missing.

    Exit 0 only if all is intact.
    """
    if not deep and (rows is not None or load):
        raise UserError("--rows or --load was given without --deep, which they belong to; add --deep.")
    found = verify_folder(folder)
    again = recompute(folder, 3 if rows is None else rows, load or (), watch=_computed) if deep else None
    problems = (*found.problems, *(again.problems if again else ()))
    if as_json:
        findings = {"problems": problems, "remarks": found.remarks, "intact": found.intact}
        if again:
            findings["recomputed"] = {"same": again.same, "left_out": again.left_out}
        print(json_text(findings))
    else:
        _print_findings(found, again)
    if problems:
        raise typer.Exit(1)


def _print_findings(found: Findings, again: Recomputed | None) -> None:
    for sentence in (*found.problems, *found.remarks):
        print(shown(sentence, terminal.LONGEST))
    kinds = [count(number, table.removesuffix("s")) for table, number in found.intact.items()]
    if found.problems:
        print(f"Intact: {', '.join(kinds)}. To repair the store, run the command that made the rows again.")
    else:
        kinds += ["the list of acknowledged rows"] * found.listed + ["the file's own structure"]
        print(f"{count(found.intact['rows'], 'row')}, all intact. Checked: {', '.join(kinds)}.")
    if again is not None:
        for sentence in again.problems:
            print(shown(sentence, terminal.LONGEST))
        others = "; ".join(f"{count(number, 'row')} {why}" for why, number in again.left_out.items())
        rest = f" (left out: {others})" if others else ""
        total = len(again.same) + len(again.problems)
        print(f"Recomputed: {count(total, 'row')}, {len(again.same)} the same to the byte{rest}.")


def _computed(key: str) -> None:
    """Report a recomputed row on stderr, if that is a terminal."""
    if sys.stderr.isatty():
        print(f"recomputed: {key}", file=sys.stderr)


def main() -> None:
    """Run the command line; a mistake of the user gets one sentence and exit code 2."""
    try:
        require_output()
        require_text(sys.argv[1:])
        if len(sys.argv) == 1:
            print(START)
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        finish_output()
    except BrokenPipeError:
        leave_output()
        code = 0
    except typer.Exit as error:
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        terminal.complain("interrupted.")
        code = 130
    except Exception as error:
        if (sentence := sentence_for(error, _subcommand())) is None:
            raise
        output_works()
        terminal.complain(sentence)
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


def _subcommand() -> str:
    """The command that was given, if any, followed by a space."""
    words = [word for word in sys.argv[1:3] if not word.startswith("-")]
    known = [*GROUPS, *_commands(app)]
    if not words or words[0] not in known:
        return ""
    inside = _commands(GROUPS[words[0]]) if words[0] in GROUPS else []
    return " ".join([words[0], *(word for word in words[1:] if word in inside)]) + " "


def _commands(group: typer.Typer) -> list[str]:
    commands = group.registered_commands
    return [command.name or command.callback.__name__ for command in commands if command.callback]


def _command_line() -> str:
    return shlex.join(["whyconv", *sys.argv[1:]])
