"""`bubbles`: gaps of the target in its steady window; times in ms."""

import pytest

from analysed import MS, Golden, intervals, judge_tables, make_named_table, phases
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding
from tracekit.analysis.wording import put_into_words


def judge(
    target_work: list[tuple[float, float]],
    window: tuple[int, int] | None = None,
    *spans: tuple[str, int, int],
    limit: float = 0.05,
    is_known: bool = True,
    **more: list[int | None] | str,
) -> list[Finding]:
    """Judge work of (start, duration), in a steady window of (start, duration) or in none."""
    frame = intervals([(round(a * MS), round(b * MS)) for a, b in target_work], **more)
    tables = {"gpu_intervals": frame.assign(channel="Compute")}
    if window is not None:
        tables["phases"] = phases(*(time * MS for time in window))
    if spans:
        tables["spans"] = make_named_table(*spans)
    return judge_tables("bubbles", {"limit": limit}, has_targets=is_known, **tables)


def test_gaps_are_found_with_lead_in_and_tail_and_their_causes(golden: Golden) -> None:
    [gaps] = judge([(12, 30), (50, 50)], (10, 100))
    # committed 30 ms before the end of the gap, in which another process had 6
    other_rows = [(70 * MS, 6 * MS)]
    [causes] = judge([(0, 40), (80, 20)], (0, 100), other_times=other_rows, latencies=[0, 30 * MS])
    [unknown] = judge([(0, 5), (15, 5)], latencies=[None, None])
    golden(gaps, causes, unknown)


def test_without_marks_the_window_is_the_span_of_the_target() -> None:
    [finding] = judge([(0, 5), (15, 5)])
    assert finding.saving == 10 * MS
    assert finding.fact("window") == "the time from the target's first to its last interval"
    assert not judge([(0, 6), (4, 6)])
    [finding] = judge([(step * 0.0076, 0.00418) for step in range(100)])
    assert finding.saving == 99 * 3_420 + 1_000  # short gaps count, from the first commit on


@pytest.mark.parametrize(("limit", "found"), [(0.05, 1), (0.5, 0), (0.499, 1)])
def test_the_limit_is_a_share_of_the_window(limit: float, found: int) -> None:
    assert len(judge([(0, 5), (15, 5)], limit=limit)) == found


def test_at_most_twenty_windows_are_shown_the_longest() -> None:
    [finding] = judge([(step * step, step / 10) for step in range(1, 40)])
    lengths = [window.end - window.start for window in finding.evidence]
    assert lengths == sorted(lengths, reverse=True)
    assert (len(lengths), lengths[-1]) == (20, 39 * MS - 19 * MS // 10)


def test_time_without_load_is_neither_a_gap_nor_part_of_the_window(golden: Golden) -> None:
    work, spans = [(0, 40), (90, 10)], (("idle", 42, 40), ("decode", 82, 8))
    assert not judge(work, (0, 100), *spans, limit=0.17)
    golden(*judge(work, (0, 100), *spans))
    [plain_finding] = judge([(10, 5), (20, 10)], (10, 20))
    assert [plain_finding] == judge([(10, 5), (20, 10)], (10, 20), ("idle", 0, 10))


def test_the_workloads_activity_in_most_gaps_is_named(golden: Golden) -> None:
    lines: list[str] = []
    for annotated, saving in (
        ([("admit", 40, 40)], 40),
        ([("admit", 55, 30)], 40),
        ([("admit", 70, 30)], 40),  # in less than half of the gap
        ([("a", 40, 19), ("admit", 61, 19)], 40),
        ([("compile", 40, 36)], 4),
        ([("compile", 40, 8), ("admit", 48, 32)], 32),
        ([], 40),
    ):
        [finding] = judge([(0, 40), (80, 20)], (0, 100), *annotated)
        assert finding.saving == saving * MS, annotated
        lines.append(f"{annotated}: {put_into_words(finding).message}")
    golden(*lines)


def test_on_a_cpu_calls_tell_of_waits(golden: Golden) -> None:
    frame = intervals([(0, 10 * MS), (30 * MS, 70 * MS)], clock="host")
    calls = frame[["start", "target"]].assign(start=[0, 12 * MS], duration=[0, 18 * MS])
    tables = {"gpu_intervals": frame, "submissions": calls, "phases": phases(0, 100 * MS)}
    golden(*judge_tables("bubbles", **tables))


def test_it_abstains_without_a_window_or_load() -> None:
    with pytest.raises(Unavailable, match="the steady window has no length"):
        judge([(0, 5)], (10, 0))
    with pytest.raises(Unavailable, match="no load in the steady window"):
        judge([(0, 1)], (0, 100), ("idle", 0, 100))
