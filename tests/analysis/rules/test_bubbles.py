"""`bubbles`: gaps of the target in its steady window."""

from collections.abc import Callable

import pandas as pd
import pytest

from analysed import intervals, judged, phases
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding, Severity

Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
MS = 1_000_000


def host_spans(*rows: tuple[str, int, int]) -> pd.DataFrame:
    """Make `spans` of (name, start, duration) in ms."""
    frame = pd.DataFrame(list(rows), columns=["name", "start", "duration"])
    times = frame[["start", "duration"]].astype("int64") * MS
    return frame.assign(name=frame["name"].astype("string"), **times)


def judge(
    own: list[tuple[float, float]],
    window: tuple[int, int] | None = None,
    *spans: tuple[str, int, int],
    limit: float = 0.05,
    known: bool = True,
    **more: list[int | None] | str,
) -> list[Finding]:
    """Judge work of (start, duration), in a steady window of (start, duration) or in none; ms."""
    frame = intervals([(round(a * MS), round(b * MS)) for a, b in own], **more)
    tables = {"gpu_intervals": frame.assign(channel="Compute")}
    if window is not None:
        tables["phases"] = phases(*(at * MS for at in window))
    if spans:
        tables["spans"] = host_spans(*spans)
    return judged("bubbles", {"limit": limit}, known=known, **tables)


def test_gaps_of_the_steady_window_are_found_with_lead_in_and_tail() -> None:
    [finding] = judge([(12, 30), (50, 50)], (10, 100))
    assert finding.severity is Severity.WARNING
    assert finding.saving == 20 * MS
    assert "20.0 % of the steady window" in finding.message
    assert "3 gaps" in finding.message
    assert finding.evidence == (
        Evidence("gpu_intervals", 100 * MS, 110 * MS, "host late"),
        Evidence("gpu_intervals", 42 * MS, 50 * MS, "host late"),
        Evidence("gpu_intervals", 10 * MS, 12 * MS, "host late"),
    )


def test_without_marks_the_window_is_the_span_of_the_target() -> None:
    [finding] = judge([(0, 5), (15, 5)])
    assert finding.saving == 10 * MS
    assert "of the time from the target's first to its last interval" in finding.message
    assert not judge([(0, 6), (4, 6)])
    [finding] = judge([(step * 0.0076, 0.00418) for step in range(100)])
    assert finding.saving == 99 * 3_420 + 1_000  # short gaps count, from the first commit on


@pytest.mark.parametrize(("limit", "found"), [(0.05, 1), (0.5, 0), (0.499, 1)])
def test_the_limit_is_a_share_of_the_window(limit: float, found: int) -> None:
    assert len(judge([(0, 5), (15, 5)], limit=limit)) == found


def test_at_most_twenty_windows_are_shown_the_longest() -> None:
    [finding] = judge([(step * step, step / 10) for step in range(1, 40)])
    lengths = [window.end - window.start for window in finding.evidence]
    assert len(lengths) == 20
    assert min(lengths) == 39 * MS - 19 * MS // 10
    assert lengths == sorted(lengths, reverse=True)


def test_time_without_load_is_neither_a_gap_nor_part_of_the_window() -> None:
    work, spans = [(0, 40), (90, 10)], (("idle", 42, 40), ("decode", 82, 8))
    assert not judge(work, (0, 100), *spans, limit=0.17)
    [finding] = judge(work, (0, 100), *spans)
    assert "16.7 % of the steady window less 40 ms without load (10 ms of 60 ms)" in finding.message
    assert finding.saving == 10 * MS
    assert [window.start for window in finding.evidence] == [82 * MS, 40 * MS]
    [plain] = judge([(10, 5), (20, 10)], (10, 20))
    assert [plain] == judge([(10, 5), (20, 10)], (10, 20), ("idle", 0, 10))


@pytest.mark.parametrize(
    ("annotated", "said", "saving"),
    [
        ([("admit", 40, 40)], "All of that time lies within", 40),
        ([("admit", 55, 30)], "62.5 % of that time lies within", 40),
        ([("admit", 70, 30)], "", 40),
        ([("a", 40, 19), ("admit", 61, 19)], "", 40),
        ([("compile", 40, 36)], "90.0 % of that time lies within", 4),
        ([("compile", 40, 8), ("admit", 48, 32)], "80.0 % of", 32),
        ([], "", 40),
    ],
)
def test_what_the_workload_did_in_most_gaps_is_named(
    annotated: list[tuple[str, int, int]], said: str, saving: int
) -> None:
    [finding] = judge([(0, 40), (80, 20)], (0, 100), *annotated)
    assert "These shares are not sure" in finding.message
    assert said in finding.message
    named = f"spans named “{annotated[-1][0]}”." if annotated else "spans named"
    assert finding.message.endswith(named) == bool(said)
    assert finding.saving == saving * MS


def test_the_causes_are_listed_the_most_first_and_advised_on() -> None:
    others = [(70 * MS, 6 * MS)]
    [finding] = judge([(0, 40), (80, 20)], (0, 100), others=others, latencies=[0, 30 * MS])
    assert (
        "By cause: late start 60.0 %, host late 25.0 %, other process 15.0 %; "
        "nothing is unattributed." in finding.message
    )
    assert finding.advice.index("event of another") < finding.advice.index("what the host did")
    assert "Another process" not in finding.advice
    assert finding.saving == 34 * MS
    [evidence] = finding.evidence
    assert evidence.note == "late start 60.0 %, host late 25.0 %"
    [finding] = judge([(0, 5), (15, 5)], latencies=[None, None])
    assert "By cause: unattributed 100.0 %." in finding.message
    assert "does not tell why" in finding.advice


def test_on_a_cpu_calls_tell_of_waits() -> None:
    frame = intervals([(0, 10 * MS), (30 * MS, 70 * MS)], clock="host")
    calls = frame[["start", "target"]].assign(start=[0, 12 * MS], duration=[0, 18 * MS])
    tables = {"gpu_intervals": frame, "submissions": calls, "phases": phases(0, 100 * MS)}
    [finding] = judged("bubbles", **tables)
    assert finding.message.startswith("The CPU backend had nothing")
    assert "GPU" not in finding.message
    assert "By cause: after a wait 100.0 %" in finding.message
    assert "mx.async_eval" in finding.advice


def test_it_abstains_without_a_target_a_window_or_load() -> None:
    with pytest.raises(Unavailable, match="the steady window has no length"):
        judge([(0, 5)], (10, 0))
    with pytest.raises(Unavailable, match="no load in the steady window"):
        judge([(0, 1)], (0, 100), ("idle", 0, 100))
