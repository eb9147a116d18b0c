"""`tracekit nightly run`: what it prints, what it refuses, and what it tells a script."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from command_line import assert_error
from tracekit.cli.nightly import _show  # pyright: ignore[reportPrivateUsage]
from tracekit.nightly.folder import NightFolder, make_output
from tracekit.nightly.history.night import Described, Entry, Judged, Night, Outcome
from tracekit.nightly.plan.reading import read_plan

PLAN = f"""
[nightly]
name = "paged"
history = "postgresql://ada:secret@host/nights"
[nightly.defaults]
reference.python = "{sys.executable}"
[[nightly.capture]]
name = "decode"
workload = "paged"
parameters = {{ batch = 8 }}
fail-on = "pipeline-churn"
[[nightly.capture]]
name = "dense"
workload = "sdpa"
metrics.hits = 0.1
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tracekit.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_dry_run_shows_its_captures_and_their_duration(here: Path, tracekit: Any) -> None:
    files_before = sorted(os.walk(here))
    result = tracekit("nightly", "run", "--dry-run")
    assert result.code == 0, result.err
    title, head, decode, dense = result.out.replace("\t", " | ").splitlines()[:4]
    assert title == "# paged: 6 min … 16 min of 2 h 0 min"
    assert head == "capture | work | reference | pairs | traced | decides | time"
    work, decides = "decode | paged, batch 8", "step_p50 3.0 %, pipeline-churn"
    assert decode == f"{work} | python {sys.executable} | 10 | 1 | {decides} | 3 min … 8 min"
    assert "hits 10.0 %" in dense
    assert "dense: hits is not a metric of tracekit" in result.err
    assert "5 s are allowed for each process" in result.err
    assert sorted(os.walk(here)) == files_before


def test_a_plan_is_named_by_its_file_and_its_captures_by_name(here: Path, tracekit: Any) -> None:
    (here / "tracekit.toml").rename(here / "other.toml")
    result = tracekit("nightly", "run", "other.toml", "--capture", "dense", "--dry-run")
    assert result.code == 0
    assert "dense" in result.out
    assert "decode" not in result.out
    result = tracekit("nightly", "run", "--dry-run", "--capture", "decod", "other.toml")
    assert_error(result, 2, "Did you mean decode?")


def test_a_dry_run_as_json_shows_no_password(here: Path, tracekit: Any) -> None:
    result = tracekit("nightly", "run", "--dry-run", "--json")
    document = json.loads(result.out)
    assert [capture["name"] for capture in document["plan"]["captures"]] == ["decode", "dense"]
    assert document["estimate"]["seconds"] == 364.0
    assert document["obstacles"] == []
    assert "secret" not in result.out


def test_a_reference_that_cannot_be_had_ends_a_dry_run(here: Path, tracekit: Any) -> None:
    file = here / "tracekit.toml"
    file.write_text(PLAN.replace(sys.executable, "gone/python"))
    result = tracekit("nightly", "run", "--dry-run")
    assert_error(result, 2, f"There is no interpreter {here}/gone/python")
    assert result.out.startswith("# paged: ")


def test_mistakes_are_said_before_any_work(here: Path, tracekit: Any) -> None:
    text = PLAN.replace("batch = 8", "batch = 0").replace("[nightly]\n", "[nightly]\nbudgt = 1\n")
    (here / "tracekit.toml").write_text(text)
    mistake = "tracekit.toml:11: nightly.capture.parameters is not fit"
    for words in (["--dry-run"], []):
        result = tracekit("nightly", "run", *words)
        assert_error(result, 2, "tracekit.toml has 2 mistakes:", mistake)
    assert [path.name for path in here.iterdir()] == ["tracekit.toml"]


def test_a_plan_to_begin_with_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracekit: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    result = tracekit("nightly", "init")
    assert (result.code, result.out) == (0, "tracekit.toml\n")
    assert "--dry-run" in result.err
    assert read_plan().captures[0].name == "decode"
    assert_error(tracekit("nightly", "init"), 2, "is there already")
    assert tracekit("nightly", "init", "more.toml").code == 0
    assert (tmp_path / "more.toml").is_file()


def test_commits_that_cannot_be_judged_stop_a_bisection(here: Path, tracekit: Any) -> None:
    for words in ("gone.toml", "--no-such-option", "a.toml b.toml", "--capture gone"):
        assert tracekit("nightly", "run", *words.split()).code == 2
        assert tracekit("nightly", "run", "--bisect", *words.split()).code == 130


@pytest.mark.processes
def test_a_commit_whose_workload_cannot_be_loaded_is_skipped(here: Path, tracekit: Any) -> None:
    (here / "torn.py").write_text("def (")
    (here / "tracekit.toml").write_text(
        "[nightly]\n[[nightly.capture]]\nworkload = 'torn'\nworkloads = '.'\ntraced = 0\n"
    )
    result = tracekit("nightly", "run", "--no-history", "--bisect")
    assert result.code == 125, result.err
    assert result.out.splitlines()[1].split("\t")[:2] == ["failed", "torn"]
    assert "torn.py cannot be loaded: SyntaxError" in result.out


def test_only_commands_that_judge_speak_to_git(tracekit: Any) -> None:
    assert tracekit("list", "rules", "--bisect").code == 2
    assert tracekit("nightly", "run", "--bisect", "--help").code == 0


JUDGED = Judged("step_p50", "ns", "lower", outcome=Outcome.REGRESSION, change=0.1, reason="slower")


CODES = {
    Outcome.OK: 0,
    Outcome.REGRESSION: 1,
    Outcome.FAILED: 3,
    Outcome.INCONCLUSIVE: 4,
    Outcome.UNJUDGED: 4,
}


@pytest.mark.parametrize(("outcome", "code"), CODES.items())
def test_a_night_is_reported_in_words_and_by_its_exit_code(
    outcome: Outcome, code: int, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = read_plan()
    entry = Entry("decode", "w", Described("paged"), judged=(JUDGED,), outcome=outcome)
    night = Night(
        "n1", "paged", "mini", "2026-11-20T02:30:00+00:00", entries=(entry,), outcome=outcome,
        reason="because", warnings=("look",),
    )  # fmt: skip
    NightFolder(make_output(plan.output / "n1")).save(night)
    with pytest.raises(typer.Exit) as end:
        _show(plan, night, json=False, open_page=True)
    assert end.value.exit_code == code
    output = capsys.readouterr()
    assert "because" in output.out.splitlines()[0]
    assert "step_p50" in output.out
    assert "warning: look" in output.err
    assert f"written: {plan.output}/n1/night.json" in output.err
