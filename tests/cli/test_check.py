"""Claims that raise and controls that do not flip: what terminal, JSON, report and exit code say."""

import json

import pytest
from made_claims import HOLDS, UNDECIDED, choose, gives, made, raises

from whyconv.cli import main as cli
from whyconv.runner.store import Store

ODD = raises(ZeroDivisionError("an <odd> size"))
BAD = {
    "a check that raises": (made("own.bad", check=ODD), "error", "fails", "1 control proved nothing."),
    "a control that raises": (
        made("own.bad", control=ODD), "holds", "error", "1 control did not change the verdict."),
    "a control that gives the same": (
        made("own.bad", control=gives(HOLDS)), "holds", "holds", "1 control did not change the verdict."),
    "a control that decides nothing": (
        made("own.bad", control=gives(UNDECIDED)), "holds", "undecided", "1 control proved nothing."),
}  # fmt: skip


def checked(as_json):
    with pytest.raises(cli.typer.Exit) as left:
        cli.check("own", as_json=as_json)
    assert left.value.exit_code == 1


@pytest.mark.parametrize("case", BAD)
def test_what_is_said_of_a_claim_that_went_wrong(case, monkeypatch, capsys, tmp_path):
    claim, verdict, control, words = BAD[case]
    choose(monkeypatch, made("own.good"), claim)

    checked(as_json=True)
    good, bad = json.loads(capsys.readouterr().out)
    assert (good["verdict"], good["control_verdict"], good["traceback"]) == ("holds", "fails", "")
    assert (bad["verdict"], bad["control_verdict"]) == (verdict, control)
    raised = "error" in (verdict, control)
    assert raised == bad["traceback"].strip().endswith("ZeroDivisionError: an <odd> size")
    assert raised == ("made_claims.py" in bad["traceback"])

    checked(as_json=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert raised == ("ZeroDivisionError: an <odd> size" in shown)
    assert raised == ("traceback: with --json, and in the report" in shown)
    assert "most recent call last" not in shown and shown.count("(unexpected)") == 1
    assert shown.endswith("1 of 2 claims as recorded, each with a control that flips it.")

    Store.open(tmp_path).close()
    cli.report(tmp_path, check="own")
    page = (tmp_path / "report.html").read_text()
    assert words in page and "gave another verdict" not in page
    assert raised == ("ZeroDivisionError: an &lt;odd&gt; size" in page.partition("<pre>")[2])
    assert "an <odd> size" not in page


def test_what_is_said_where_every_control_flips(monkeypatch, capsys, tmp_path):
    choose(monkeypatch, made("own.one"), made("own.two"))
    cli.check("own")
    shown = capsys.readouterr().out
    assert "2 of 2 claims as recorded" in shown and "traceback" not in shown
    Store.open(tmp_path).close()
    cli.report(tmp_path, check="own")
    page = (tmp_path / "report.html").read_text()
    assert "Every control, broken on purpose, gave another verdict." in page
    assert 'class="alarm"' not in page and "<pre>" not in page
