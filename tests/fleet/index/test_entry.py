"""How runs stand among those of their kind."""

from dataclasses import replace

from tracekit.analysis.result import Better, Check, Measurement, Result, Status
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.recording import Provenance
from tracekit.fleet.index import MOST_POINTS, RunFolder, entries_of, kind_of

PAGED = Provenance(recorder="host", workload="paged", parameters={"batch": 2})


def run(name: str, created: str, rate: float | None, provenance: Provenance = PAGED) -> RunFolder:
    known = replace(provenance, created=created)
    metrics = (
        Measurement("tokens_per_second", rate, "tokens/s", Better.HIGHER),
        Measurement("step_p50", 1e6, "ns", Better.LOWER),
    )
    checks = (Check("bubbles", Status.PASSED),)
    return RunFolder(name, known, Result(known, metrics, (), checks), "", {})


def test_the_newest_run_stands_first() -> None:
    runs = [run("b", "2026-11-02", 2.0), run("a", "2026-11-03", 3.0), run("c", "2026-11-01", 1.0)]
    assert [one["folder"] for one in entries_of(runs)] == ["a", "b", "c"]


def test_a_run_is_the_last_of_its_series() -> None:
    runs = [run(f"{day:02}", f"2026-11-{day:02}", float(day)) for day in range(1, 4)]
    assert [one["series"] for one in entries_of(runs)] == [[1.0, 2.0, 3.0], [1.0, 2.0], [1.0]]


def test_a_series_holds_the_latest_values_only() -> None:
    runs = [run(f"{at:03}", f"{at:03}", float(at)) for at in range(MOST_POINTS + 5)]
    assert len(entries_of(runs)[0]["series"]) == MOST_POINTS
    assert entries_of(runs)[0]["series"][-1] == MOST_POINTS + 4


def test_unlike_runs_are_series_of_their_own() -> None:
    other = replace(PAGED, parameters={"batch": 4})
    runs = [run("a", "1", 1.0), run("b", "2", 9.0, other), run("c", "3", None)]
    by_name = {one["folder"]: one for one in entries_of(runs)}
    assert by_name["a"]["series"] == [1.0]
    assert by_name["b"]["series"] == [9.0]
    assert by_name["c"]["followed"] == Measurement("step_p50", 1e6, "ns", Better.LOWER)
    assert by_name["c"]["series"] == [1e6]


def test_what_makes_runs_unlike() -> None:
    machine = {"chip": "Apple M3"}
    assert kind_of(PAGED) == kind_of(replace(PAGED, created="later", tracekit="0.2"))
    for other in (
        replace(PAGED, recorder="xctrace"),
        replace(PAGED, workload="sdpa"),
        replace(PAGED, templates=("Metal System Trace",)),
        replace(PAGED, machine=machine),
    ):
        assert kind_of(other) != kind_of(PAGED)


def test_the_verdict_is_that_of_the_runs_own_page() -> None:
    bad = Finding("bubbles", Severity.WARNING, "Idle for 20 %.", "Submit ahead.")
    found = run("a", "1", 1.0)
    assert found.result is not None
    found = replace(found, result=replace(found.result, findings=(bad,)))
    [entry] = entries_of([found])
    assert (entry["verdict"].tone, entry["verdict"].message) == ("warning", "Idle for 20 %.")


def test_a_run_without_a_result_says_why() -> None:
    [entry] = entries_of([RunFolder("a", Provenance(), None, "recording.json cannot be read.", {})])
    assert entry["verdict"].tone == "unclear"
    assert entry["verdict"].lead == "recording.json cannot be read."
    assert (entry["followed"], entry["series"]) == (None, [])
