import pandas as pd

from tracekit.report.timeline.track import in_trace


def rows(*times: tuple[int, int]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": pd.array([start for start, _ in times], dtype="Int64"),
            "duration": pd.array([duration for _, duration in times], dtype="Int64"),
        }
    )


def labels(*texts: str) -> pd.Series:
    return pd.Series(texts, dtype="string")


def test_marks_within_the_trace_stay_as_they_are() -> None:
    frame, names = rows((0, 5), (5, 5)), labels("prepare", "steady")
    assert in_trace(frame, names) == (frame, names, "")


def test_marks_from_before_the_trace_are_left_out_and_counted() -> None:
    frame, names, note = in_trace(
        rows((-90, 60), (-30, 30), (-5, 15), (10, 40)),
        labels("prepare", "warm-up", "waiting", "steady"),
    )
    assert list(frame["start"]) == [0, 10]
    assert list(frame["duration"]) == [10, 40]
    assert list(names) == ["waiting, begun before the trace", "steady"]
    assert note == "2 from before the trace left out"


def test_moments_before_the_trace_are_left_out_and_one_at_its_start_is_not() -> None:
    _, names, note = in_trace(rows((-1, 0), (0, 0)), labels("early", "first"))
    assert list(names) == ["first"]
    assert note == "1 from before the trace left out"


def test_all_may_be_left_out() -> None:
    frame, _, note = in_trace(rows((-9, 1)), labels("early"))
    assert frame.empty
    assert note == "1 from before the trace left out"
