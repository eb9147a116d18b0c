"""Runs that may lack data: their metrics decide nothing, unless the workload noted all of them."""

import json
import shutil
from pathlib import Path

import pytest

from command_line import run
from step_samples import noisy, sample_of
from tracekit.analysis.result import Better
from tracekit.base.recording import Stage
from tracekit.comparison.compare import compare
from tracekit.comparison.missing_parts import withhold_verdict
from tracekit.comparison.spread import Limits
from tracekit.comparison.verdicts import Change, Verdict

KEPT = Path(__file__).parents[1] / "kept" / "run"
RECOVERED = {"recover": Stage("incomplete", "2026-11-29T12:00:00Z")}


def change_of(metric: str, verdict: Verdict | None = Verdict.EQUIVALENT) -> Change:
    return Change(metric, "ns", Better.LOWER, 100.0, 100.0, verdict, 0.0, -0.01, 0.01)


@pytest.mark.parametrize("metric", ["gpu_busy", "idle_host", "allocations_per_step"])
def test_a_metric_of_a_recovered_trace_decides_nothing(metric: str) -> None:
    whole = sample_of([100] * 40, "a")
    recovered = sample_of([100] * 40, "b", stages=RECOVERED)
    runs = {"a": whole, "b": recovered}
    for names in ("ab", "ba", "aab"):
        samples = [runs[name] for name in names]
        withheld = withhold_verdict(change_of(metric), samples)
        assert withheld.verdict is Verdict.UNCLEAR, names
        assert withheld.reason == "b was recovered, incomplete", names
        worse = withhold_verdict(change_of(metric, Verdict.WORSE), samples)
        assert worse.verdict is Verdict.UNCLEAR, names
    assert withhold_verdict(change_of(metric), (whole, whole)) == change_of(metric)
    undirected = change_of(metric, None)
    assert withhold_verdict(undirected, (whole, recovered)) == undirected


def test_times_that_the_workload_noted_are_judged_all_the_same() -> None:
    whole, recovered = sample_of([100] * 40), sample_of([100] * 40, stages=RECOVERED)
    for metric in ("step_p50", "ttft_p50", "my_own_result"):
        assert withhold_verdict(change_of(metric), (whole, recovered)) == change_of(metric), metric
    times = noisy(1_000_000)
    sides = [sample_of(times, "a")], [sample_of(times, "b", stages=RECOVERED)]
    comparison = compare(*sides, Limits(threshold=0.2))
    assert comparison.verdict is Verdict.EQUIVALENT


def test_a_stage_that_did_not_end_withholds_verdicts() -> None:
    for name, state, reason_of_trace, reason_of_steps in (
        ("record", "interrupted", "", ""),
        ("record", "failed", *["the recording of b did not end well"] * 2),
        ("record", "running", *["the recording of b did not end well"] * 2),
        ("export", "failed", "the export of b did not end well", ""),
        ("import", "interrupted", "the import of b did not end well", ""),
        ("export", "done", "", ""),
        ("report", "failed", "", ""),
    ):
        stages = {name: Stage(state, "2026-11-29T12:00:00Z")}
        samples = [sample_of([100] * 40, "b", stages=stages)]
        reasons = [
            withhold_verdict(change_of(metric), samples).reason
            for metric in ("gpu_busy", "step_p50")
        ]
        assert reasons == [reason_of_trace, reason_of_steps], (name, state)


def test_a_gate_on_a_recovered_run_is_inconclusive_unless_complete_parts_decide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("whole", "recovered"):
        shutil.copytree(KEPT, tmp_path / name)
    for document in ("recording.json", "result.json"):
        file = tmp_path / "recovered" / document
        content = json.loads(file.read_text())
        provenance = content.get("provenance", content)
        provenance["stages"]["recover"] = {"state": "incomplete", "at": "2026-11-29T12:00:00Z"}
        provenance["started"] = "2026-11-29T12:00:00Z"
        file.write_text(json.dumps(content))
    sides = (tmp_path / "whole", tmp_path / "recovered")
    assert run("nightly", "gate", *sides, "--metric", "host_idle_ratio") == 4
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("Inconclusive: ")
    assert "recovered was recovered, incomplete" in printed
    assert run("compare", *sides, "--metric", "host_idle_ratio", "--exit-code") == 4
    capsys.readouterr()
    assert run("nightly", "gate", *sides) == 4
    printed = capsys.readouterr().out
    assert "its spread is not known: a spread within a run takes 20 steady steps" in printed
    assert "was recovered" not in printed, "the times of its steps are complete"
