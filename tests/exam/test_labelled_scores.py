"""What the rules say of made traces is counted as it should be."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from labelled.corpus import Trace
from labelled.judged import Judged, Verdict, judge
from labelled.labels import Label
from labelled.score import main
from labelled.tally import tally

pytestmark = pytest.mark.campaign

FOUND = Verdict("bubbles", Label.FIND, "found", 2.0, 1_000_000, 1_100_000, "The GPU waits.")
MISSED = replace(FOUND, status="passed", cost=None, saving=None, said="")
FALSE = replace(FOUND, label=Label.PASS, size=0.1, cost=None, said="It waits, it says.")
PASSED = replace(FALSE, status="passed", saving=None, said="")
NEAR = replace(FALSE, label=Label.EITHER, size=1.0)


MARKS = "<!-- written by tests/exam/labelled/score.py -->", "<!-- end -->"


def trace(seed: int, *verdicts: Verdict, clean: bool = False) -> Judged:
    faults = () if clean else ("bubbles",)
    return Judged(Trace(seed, faults), verdicts, {"driver": 100}, {"driver": 80})


JUDGED = [
    trace(1, FOUND),
    trace(2, replace(FOUND, saving=2_000_000)),
    trace(3, MISSED),
    trace(4, FALSE, clean=True),
    trace(5, PASSED, clean=True),
    trace(6, NEAR),
]


def test_certain_faults_are_counted_and_estimates_compared_with_costs() -> None:
    score = tally(JUDGED).scores["bubbles"]
    assert (score.found, score.missed, score.false, score.passed, score.either) == (2, 1, 1, 1, 1)
    assert (score.precision, score.recall) == pytest.approx((2 / 3, 2 / 3))
    assert (score.false_on_clean, score.near) == (1, 0.5)
    assert score.errors == pytest.approx([0.1, 1.0])
    assert score.median_error == pytest.approx(0.55)
    totals = tally([trace(1, FOUND), Judged(Trace(2), (), {"compile": 100}, {"compile": 100})])
    assert totals.causes_right == pytest.approx(0.9)  # weighed by idle time
    assert tally([Judged(Trace(2), (), {}, {})]).causes_right is None


def test_a_judge_compares_with_the_truth(tmp_path: Path) -> None:
    traces = (Trace(10_000 + 5 * number, ("bubbles",)) for number in range(20))
    marked_trace = next(
        labelled_trace
        for labelled_trace in traces
        if labelled_trace.setup().marks and not labelled_trace.setup().missing
    )
    judged_trace = judge(marked_trace, tmp_path / "run")
    (bubbles,) = judged_trace.of("bubbles")
    assert (bubbles.label, bubbles.status) == (Label.FIND, "found")
    assert "idle for" in bubbles.said
    assert bubbles.saving == pytest.approx(bubbles.cost, rel=0.05)
    assert sum(judged_trace.right.values()) > 0.8 * sum(judged_trace.idle.values()) > 0
    assert (tmp_path / "run" / "recording.json").exists()
    assert len(judged_trace.verdicts) > 20


def test_a_clean_trace_is_to_be_passed_by_all_who_can_see() -> None:
    judged_trace = judge(Trace(0))
    assert {verdict.label for verdict in judged_trace.verdicts} == {Label.PASS}


def test_the_command_prints_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept_folder, page, scores = tmp_path / "kept", tmp_path / "scores.md", tmp_path / "scores.json"
    page.write_text(f"# Scores\n\n{MARKS[0]}\nold\n{MARKS[1]}\n\nThe end.\n")
    arguments = ["--rule=capture-empty", "--traces=1", "--clean=1", "--jobs=1", "--part=score"]
    files = [f"--keep={kept_folder}", f"--markdown={page}", f"--json={scores}"]
    assert main([*arguments, *files]) == 0
    printed = capsys.readouterr().out
    assert "capture-empty" in printed
    assert "2 traces of the part score" in printed
    numbers = json.loads(scores.read_text())
    assert numbers["rules"]["capture-empty"]["recall"] == 1
    assert (numbers["traces"], numbers["clean"], numbers["alarms"]) == (2, 1, 0)
    assert page.read_text().startswith(f"# Scores\n\n{MARKS[0]}\n\n| rule | faults |")
    assert page.read_text().endswith(f"2 traces in all.\n\n{MARKS[1]}\n\nThe end.\n")
    assert "old" not in page.read_text()
    assert sorted(entry.name.partition("-")[0] for entry in kept_folder.iterdir()) == [
        "capture",
        "clean",
    ]
