"""What traces found, counted over the traces of a night."""

from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.analysis.result import Result
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.errors import RecordingError
from tracekit.base.recording import Provenance, save
from tracekit.nightly.captures import findings_of
from tracekit.nightly.history.night import Pair, TracedFinding

CHURN = Finding(
    "pipeline-churn", Severity.WARNING, "9 pipelines.", "Keep them.", (), 900, saving_per_token=4.5
)
IDLE = Finding("bubbles", Severity.NOTE, "The GPU waited.", "Batch more.")


def traced(folder: Path, number: int, *sides: tuple[Finding, ...]) -> Pair:
    """Make the runs of a traced pair, candidate first, with what each found."""
    runs: list[str] = []
    for role, findings in zip(("candidate", "reference"), sides, strict=False):
        name = f"decode/{role}-1-{number}"
        (folder / name).mkdir(parents=True)
        save(folder / name / "result.json", Result(Provenance(), (), findings, ()))
        runs.append(name)
    return Pair(1, number, "ab", traced=True, runs=tuple(runs))


def test_a_finding_is_counted_on_both_sides_the_most_frequent_first(tmp_path: Path) -> None:
    pairs = [
        traced(tmp_path, 1, (IDLE, CHURN), (IDLE,)),
        traced(tmp_path, 2, (CHURN,), ()),
        traced(tmp_path, 3, (CHURN,), (IDLE,)),
    ]
    assert findings_of(pairs, tmp_path) == (
        TracedFinding("pipeline-churn", "9 pipelines.", "warning", 3, 3, 0, 4.5, 900),
        TracedFinding("bubbles", "The GPU waited.", "note", 1, 3, 2),
    )


def test_a_rule_that_finds_two_things_in_a_trace_counts_once_and_is_told_by_the_first(
    tmp_path: Path,
) -> None:
    again = replace(CHURN, message="2 more pipelines.")
    (found,) = findings_of([traced(tmp_path, 1, (CHURN, again), (again,))], tmp_path)
    assert (found.message, found.traces, found.of, found.in_reference) == ("9 pipelines.", 1, 1, 1)


def test_pairs_that_were_not_traced_or_do_not_count_are_not_looked_at(tmp_path: Path) -> None:
    good = traced(tmp_path, 1, (IDLE,), ())
    lost = replace(traced(tmp_path, 2, (CHURN,), ()), contaminated=("load",))
    plain = Pair(1, 3, "abba", candidate={"step_p50": (1.0, 1.0)})
    (found,) = findings_of([plain, lost, good], tmp_path)
    assert (found.rule, found.of) == ("bubbles", 1)


def test_a_run_without_a_result_is_told(tmp_path: Path) -> None:
    pair = traced(tmp_path, 1, (IDLE,))
    (tmp_path / pair.runs[0] / "result.json").unlink()
    with pytest.raises(RecordingError, match=r"candidate-1-1/result\.json does not exist"):
        findings_of([pair], tmp_path)
