"""`tracekit nightly gate`: what it prints, writes and ends with, and whom it tells."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_error, run
from gate_night import BROKEN, DECODE, FINE, NIGHT, PREFILL
from tracekit import pipeline
from tracekit.base.documents import save
from tracekit.base.recording import Recording
from tracekit.nightly.history.night import Entry, Night, Outcome

OK = Outcome.OK


def night_of(entry: Entry, name: str = "n1", **changes: Any) -> Night:
    """A night of one capture, which ended as the capture did."""
    entry_fields = {"outcome": entry.outcome, "reason": entry.reason, "warnings": ()}
    return replace(NIGHT, id=name, entries=(entry,), **(entry_fields | changes))


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a plan, outside of GitHub Actions, with a night for each outcome."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    for name, entry in {"good": FINE, "worse": DECODE, "failed": BROKEN, "open": PREFILL}.items():
        keep(tmp_path / name, night_of(entry, name))
    keep(tmp_path / "running", night_of(FINE, "running", outcome=None, ended=""))
    keep(tmp_path / "empty", replace(NIGHT, entries=(), outcome=OK))
    return tmp_path


def keep(folder: Path, night: Night) -> None:
    folder.mkdir(parents=True)
    save(folder / "night.json", night)


def test_the_exit_code_is_the_outcome(outside: Path, tracekit: Any) -> None:
    for night, codes, first_words in (
        ("good", (0, 0), "OK: Nothing is worse."),
        ("worse", (1, 1), "Regression: step_p50 is worse."),
        ("failed", (3, 125), "Failed: Parity failed: 3 of 8."),
        ("open", (4, 125), "Inconclusive: Too wide."),
        ("running", (4, 125), "Inconclusive: It has not ended"),
        ("empty", (4, 125), "Inconclusive: Captures of it are missing"),
    ):
        result = tracekit("nightly", "gate", night)
        assert (result.code, result.out.splitlines()[0][: len(first_words)]) == (
            codes[0],
            first_words,
        )
        assert tracekit("nightly", "gate", night, "--bisect").code == codes[1]


def test_wrong_usage_stops_a_bisection_instead_of_judging_a_commit(
    outside: Path, tracekit: Any, subtests: pytest.Subtests
) -> None:
    for arguments in (
        *("nowhere", "good --metric step_p50", "good --threshold 0", "a b --max-age 36h"),
        *("good --max-age soon", "good --json --markdown -", "good --junit x --sarif x"),
        *("good --summary", "good --on-regression mail'", "good --nothing", "a b c"),
    ):
        with subtests.test(arguments=arguments):
            result = tracekit("nightly", "gate", *arguments.split())
            assert result.code == 2
            assert "outcome" not in result.out, "nothing is judged"
            assert "Traceback" not in result.err
            assert tracekit("nightly", "gate", "--bisect", *arguments.split()).code >= 128
            assert not (outside / "x").exists()


def test_json_is_the_report_and_nothing_else(outside: Path, tracekit: Any) -> None:
    report = json.loads(tracekit("nightly", "gate", "worse", "--json", "--annotations").out)
    assert (report["outcome"], report["subject"], report["format"]) == ("regression", "worse", 2)
    assert report["suites"][0]["cases"][0]["reproduced"] is True


def test_a_good_night_that_is_too_old_is_inconclusive(outside: Path, tracekit: Any) -> None:
    in_centuries = tracekit("nightly", "gate", "good", "--max-age", "9000w")
    assert in_centuries.code == 2
    result = tracekit("nightly", "gate", "good", "--max-age", "36h")
    assert result.code == 4
    assert "--max-age allows 36.0 h" in result.out


def test_the_good_night_of_another_plan_is_not_the_plans(outside: Path, tracekit: Any) -> None:
    """Nor does a report of an earlier gate stay where it was."""
    plan = '[nightly]\nname = "attention"\noutput = "nights"\nmachine = "m1-8gb"\n'
    capture = '[[nightly.capture]]\nname = "micro"\nworkload = "paged"\n'
    (outside / "tracekit.toml").write_text(plan + capture)
    keep(outside / "nights" / "n2", night_of(FINE, "n2", plan="other"))
    (outside / "gate.xml").write_text("<!-- made by tracekit --><testsuites/>")
    result = tracekit("nightly", "gate", "--junit", outside / "gate.xml")
    assert result.code == 4
    assert "There is no night of the plan attention on this machine, m1-8gb" in result.out
    assert '<skipped type="inconclusive"' in (outside / "gate.xml").read_text()
    keep(outside / "nights" / "n1", night_of(BROKEN, "n1"))
    assert tracekit("nightly", "gate", "--config", outside / "tracekit.toml").code == 3


def test_in_github_actions_it_annotates_and_summarises_by_itself(
    outside: Path, tracekit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(outside / "summary.md"))
    result = tracekit("nightly", "gate", "worse")
    assert "\n::error title=Regression%3A decode%2C step_p50::step_p50: +9.8 %25" in result.out
    assert (outside / "summary.md").read_text().startswith("## ❌")
    again = tracekit("nightly", "gate", "worse", "--json")
    assert "::error" in again.err
    as_markdown = tracekit("nightly", "gate", "worse", "--markdown", "-", "--no-summary")
    assert "::error" in as_markdown.err
    assert "::error" not in as_markdown.out
    assert (outside / "summary.md").read_text().count("\n## ❌") == 1
    silent = tracekit("nightly", "gate", "worse", "--no-summary", "--no-annotations")
    assert "::error" not in silent.out + silent.err
    assert (outside / "summary.md").read_text().count("\n## ❌") == 1


@pytest.fixture
def runs(imported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    pipeline.analyze(Recording(imported))
    other_run = tmp_path / "other"
    shutil.copytree(imported, other_run)
    monkeypatch.chdir(tmp_path)
    return imported, other_run


def slower(run: Path, metric: str, value: float) -> Path:
    """Write a result of the run with another value, and return its file."""
    result = json.loads((run / "result.json").read_bytes())
    [changed] = [row for row in result["metrics"] if row["name"] == metric]
    changed["value"] = value
    result["provenance"]["started"] = f"2026-11-20T10:00:{value % 60:09.6f}+00:00"
    save(run / "slower.json", result)
    return run / "slower.json"


def test_two_runs_end_as_their_comparison_does(runs: tuple[Path, Path], tracekit: Any) -> None:
    result = tracekit("nightly", "gate", *runs, "--junit", "gate.xml")
    assert result.code == tracekit("compare", *runs, "--exit-code").code == 0
    assert result.out.startswith("OK: runs\nok\truns gpu_idle_ratio\tEquivalent within 3 points")
    unlike = (runs[0], slower(runs[1], "start_latency_p50", 1200.0))
    assert_error(
        tracekit("nightly", "gate", *unlike, "--junit", "gate.xml"), 4, "Record several runs"
    )
    assert_error(tracekit("compare", *unlike, "--exit-code"), 4, "Record several runs")
    assert 'tests="2" failures="0" errors="0"' in Path("gate.xml").read_text()
    assert '<skipped type="inconclusive"' in Path("gate.xml").read_text()


def test_several_runs_that_are_worse_are_a_regression(
    runs: tuple[Path, Path], tmp_path: Path, tracekit: Any
) -> None:
    results: list[Path] = []
    for name, value in {"b-1": 1000.0, "b-2": 1001.0, "a-1": 2000.0, "a-2": 2001.0}.items():
        shutil.copytree(runs[0], tmp_path / name)
        results.append(slower(tmp_path / name, "start_latency_p50", value).relative_to(tmp_path))
    words = [*results[:2], "vs", *results[2:], "--metric", "start_latency_p50"]
    assert tracekit("compare", *words).code == 0
    assert tracekit("compare", *words, "--exit-code").code == 1
    result = tracekit("nightly", "gate", *words, "--sarif", "gate.sarif")
    assert result.code == 1, result.out
    [run] = json.loads(Path("gate.sarif").read_bytes())["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a-1/slower.json"
    assert tracekit("nightly", "gate", *words, "--threshold", "2").code != 1


@pytest.mark.processes
def test_a_hook_hears_of_a_regression_only(
    outside: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    hook_log = outside / "told"
    program = f"import sys; open({str(hook_log)!r}, 'a').write(sys.stdin.read()[:1]); print('sent')"
    hook = f'{sys.executable} -c "{program}"'
    for night, code in (("good", 0), ("worse", 1)):
        assert run("nightly", "gate", "--json", "--on-regression", hook, night) == code
    assert hook_log.read_text() == "{"
    printed = capfd.readouterr()
    assert "sent" in printed.err
    assert "sent" not in printed.out
