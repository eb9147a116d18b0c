"""`bubbles`: gaps of the target in its steady window."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding, Severity

Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
MS = 1_000_000


def host_spans(rows: list[tuple[str, int, int]]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": pd.array([name for name, _, _ in rows], dtype="string"),
            "start": pd.array([start for _, start, _ in rows], dtype="int64"),
            "duration": pd.array([length for _, _, length in rows], dtype="Int64"),
        }
    )


def test_gaps_of_the_steady_window_are_found_with_lead_in_and_tail(
    intervals: Make, judged: Judge, phases: Make
) -> None:
    frame = intervals([(12 * MS, 30 * MS), (50 * MS, 50 * MS)])
    [finding] = judged("bubbles", gpu_intervals=frame, phases=phases(10 * MS, 100 * MS))
    assert finding.severity is Severity.WARNING
    assert finding.saving == 20 * MS
    assert "20.0 % of the steady window" in finding.message
    assert "3 gaps" in finding.message
    assert finding.evidence == (
        Evidence("gpu_intervals", 100 * MS, 110 * MS, "host late"),
        Evidence("gpu_intervals", 42 * MS, 50 * MS, "host late"),
        Evidence("gpu_intervals", 10 * MS, 12 * MS, "host late"),
    )


def test_without_marks_the_window_is_the_span_of_the_target(intervals: Make, judged: Judge) -> None:
    [finding] = judged("bubbles", gpu_intervals=intervals([(0, 5 * MS), (15 * MS, 5 * MS)]))
    assert finding.saving == 10 * MS
    assert "of the time from the target's first to its last interval" in finding.message


def test_work_of_others_does_not_fill_a_gap(intervals: Make, judged: Judge) -> None:
    own = [(0, 5 * MS), (15 * MS, 5 * MS)]
    frame = intervals(own, others=[(5 * MS, 10 * MS)], latencies=[0, 0])
    [finding] = judged("bubbles", gpu_intervals=frame)
    assert finding.saving == 10 * MS


def test_overlapping_channels_leave_no_gap(intervals: Make, judged: Judge) -> None:
    assert not list(judged("bubbles", gpu_intervals=intervals([(0, 6 * MS), (4 * MS, 6 * MS)])))


def test_short_gaps_count_as_well(intervals: Make, judged: Judge) -> None:
    frame = intervals([(step * 7_600, 4_180) for step in range(100)])
    [finding] = judged("bubbles", gpu_intervals=frame)
    assert finding.saving == 99 * 3_420 + 1_000  # from the first commit on


@pytest.mark.parametrize(("limit", "found"), [(0.05, 1), (0.5, 0), (0.6, 0)])
def test_the_limit_is_a_share_of_the_window(
    limit: float, found: int, intervals: Make, judged: Judge
) -> None:
    frame = intervals([(0, 5 * MS), (15 * MS, 5 * MS)])
    assert len(list(judged("bubbles", {"limit": limit}, gpu_intervals=frame))) == found


def test_at_most_twenty_windows_are_shown_the_longest(intervals: Make, judged: Judge) -> None:
    frame = intervals([(step * step * MS, step * MS // 10) for step in range(1, 40)])
    [finding] = judged("bubbles", gpu_intervals=frame)
    lengths = [one.end - one.start for one in finding.evidence]
    assert len(lengths) == 20
    assert min(lengths) == 39 * MS - 19 * MS // 10
    assert lengths == sorted(lengths, reverse=True)


def test_on_a_cpu_it_speaks_of_the_cpu(intervals: Make, judged: Judge) -> None:
    [finding] = judged("bubbles", gpu_intervals=intervals([(0, MS), (9 * MS, MS)], clock="host"))
    assert "CPU" in finding.message
    assert "GPU" not in finding.message


def test_it_abstains_without_a_known_target(intervals: Make, judged: Judge) -> None:
    with pytest.raises(Unavailable, match="target is not known"):
        list(judged("bubbles", known=False, gpu_intervals=intervals([(0, MS)])))


def test_a_window_without_length_says_nothing(intervals: Make, judged: Judge, phases: Make) -> None:
    with pytest.raises(Unavailable, match="the steady window has no length"):
        list(judged("bubbles", gpu_intervals=intervals([(0, 5 * MS)]), phases=phases(10 * MS, 0)))


def test_time_without_load_is_neither_a_gap_nor_part_of_the_window(
    intervals: Make, judged: Judge, phases: Make
) -> None:
    frame = intervals([(0, 40 * MS), (90 * MS, 10 * MS)])
    tables = {"gpu_intervals": frame, "phases": phases(0, 100 * MS)}
    idle = host_spans([("idle", 42 * MS, 40 * MS), ("decode", 82 * MS, 8 * MS)])
    assert not list(judged("bubbles", {"limit": 0.17}, **tables, spans=idle))
    [finding] = judged("bubbles", **tables, spans=idle)
    assert "16.7 % of the steady window less 40 ms without load (10 ms of 60 ms)" in finding.message
    assert finding.saving == 10 * MS
    assert finding.evidence == (
        Evidence("gpu_intervals", 82 * MS, 90 * MS, "host late"),
        Evidence("gpu_intervals", 40 * MS, 42 * MS, "host late"),
    )


@pytest.mark.parametrize(
    ("annotated", "said", "saving"),
    [
        pytest.param([("admit", 40, 40)], "All of that time lies within", 40, id="all"),
        pytest.param([("admit", 55, 30)], "62.5 % of that time lies within", 40, id="most"),
        pytest.param([("admit", 70, 30)], "", 40, id="too little"),
        pytest.param([("admit", 0, 40)], "", 40, id="elsewhere"),
        pytest.param([("a", 40, 19), ("admit", 61, 19)], "", 40, id="no one has most"),
        pytest.param([("compile", 40, 36)], "90.0 % of that time lies within", 4, id="compile"),
        pytest.param([("compile", 40, 8), ("admit", 48, 32)], "80.0 % of", 32, id="both"),
        pytest.param([], "", 40, id="no spans"),
    ],
)
def test_what_the_workload_did_in_most_gaps_is_named(
    intervals: Make,
    judged: Judge,
    phases: Make,
    *,
    annotated: list[tuple[str, int, int]],
    said: str,
    saving: int,
) -> None:
    frame = intervals([(0, 40 * MS), (80 * MS, 20 * MS)])
    did = host_spans([(name, start * MS, length * MS) for name, start, length in annotated])
    [finding] = judged("bubbles", gpu_intervals=frame, phases=phases(0, 100 * MS), spans=did)
    assert "These shares are not sure" in finding.message
    assert said in finding.message
    named = f"spans named “{annotated[-1][0]}”." if annotated else "spans named"
    assert finding.message.endswith(named) == bool(said)
    assert finding.saving == saving * MS


def test_the_causes_are_listed_the_most_first_and_advised_on(
    intervals: Make, judged: Judge, phases: Make
) -> None:
    frame = intervals(
        [(0, 40 * MS), (80 * MS, 20 * MS)], [(70 * MS, 6 * MS)], latencies=[0, 30 * MS]
    ).assign(channel="Compute")
    [finding] = judged("bubbles", gpu_intervals=frame, phases=phases(0, 100 * MS))
    assert (
        "By cause: late start 60.0 %, host late 25.0 %, other process 15.0 %; "
        "nothing is unattributed." in finding.message
    )
    assert finding.advice.index("event of another") < finding.advice.index("what the host did")
    assert "Another process" not in finding.advice
    assert "pipeline" not in finding.advice
    assert finding.saving == 34 * MS
    [evidence] = finding.evidence
    assert evidence.note == "late start 60.0 %, host late 25.0 %"


def test_what_cannot_be_known_is_unattributed(intervals: Make, judged: Judge) -> None:
    frame = intervals([(0, 5 * MS), (15 * MS, 5 * MS)], latencies=[None, None])
    [finding] = judged("bubbles", gpu_intervals=frame)
    assert "By cause: unattributed 100.0 %." in finding.message
    assert "does not tell why" in finding.advice
    assert finding.saving == 10 * MS


def test_a_wait_that_drained_the_queue_has_its_lever(
    intervals: Make, phases: Make, judged: Judge
) -> None:
    frame = intervals([(0, 10 * MS), (30 * MS, 70 * MS)], clock="host")
    calls = frame[["start", "target"]].assign(
        start=[0, 12 * MS], duration=pd.array([0, 18 * MS], dtype="Int64")
    )
    [finding] = judged(
        "bubbles", gpu_intervals=frame, submissions=calls, phases=phases(0, 100 * MS)
    )
    assert "By cause: after a wait 100.0 %" in finding.message
    assert "mx.async_eval" in finding.advice


def test_idle_spans_outside_the_window_change_nothing(
    intervals: Make, judged: Judge, phases: Make
) -> None:
    frame, window = intervals([(10 * MS, 5 * MS), (20 * MS, 10 * MS)]), phases(10 * MS, 20 * MS)
    [plain] = judged("bubbles", gpu_intervals=frame, phases=window)
    assert [plain] == list(
        judged(
            "bubbles", gpu_intervals=frame, phases=window, spans=host_spans([("idle", 0, 10 * MS)])
        )
    )


def test_it_abstains_where_there_never_was_load(
    intervals: Make, judged: Judge, phases: Make
) -> None:
    idle = host_spans([("idle", 0, 100 * MS)])
    with pytest.raises(Unavailable, match="no load in the steady window"):
        list(
            judged(
                "bubbles",
                gpu_intervals=intervals([(0, MS)]),
                phases=phases(0, 100 * MS),
                spans=idle,
            )
        )
