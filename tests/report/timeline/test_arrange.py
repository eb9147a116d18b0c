import pandas as pd

from tracekit.report.timeline.track import Kind, Track, times, track, words

STEPS = ("Steps", Kind.STEPS, "marked by the workload")


def spans(*pairs: tuple[int, int | None]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": pd.array([start for start, _ in pairs], dtype="int64"),
            "duration": pd.array([length for _, length in pairs], dtype="Int64"),
        }
    )


def shown(one: Track) -> list[tuple[int, int, str]]:
    rows = zip(one.starts.tolist(), one.durations.tolist(), one.codes.tolist(), strict=True)
    return [(start, length, one.texts[code]) for start, length, code in rows]


def test_rows_in_any_order_are_laid_out_in_time() -> None:
    frame = spans((20, 5), (0, 5), (10, 5))
    made = track(*STEPS, frame, pd.Series(["c", "a", "b"]))
    assert shown(made) == [(0, 5, "a"), (10, 5, "b"), (20, 5, "c")]
    assert made.lanes == (3,)
    assert made.ends.tolist() == [5, 15, 25]
    assert (made.name, made.kind, made.note) == ("Steps", Kind.STEPS, "marked by the workload")


def test_overlapping_rows_stand_in_lanes_and_keep_their_details() -> None:
    frame = spans((0, 10), (2, 3), (6, 2), (12, 1))
    labels = pd.Series(["long", "short", "short", "late"])
    latency = times("latency", pd.Series([7, None, 9, 11], dtype="Int64"))
    process = words("process", pd.Series(["p", "q", None, "p"], dtype="string"))
    made = track(*STEPS, frame, labels, details=(latency, process))
    assert made.lanes == (2, 2)
    assert shown(made) == [(0, 10, "long"), (12, 1, "late"), (2, 3, "short"), (6, 2, "short")]
    assert made.details[0].numbers.tolist() == [7, 11, -1, 9]
    assert made.details[1].numbers.tolist() == [0, 0, 1, -1]
    assert made.details[1].texts == ("p", "q")


def test_rows_that_find_no_lane_are_merged_and_counted() -> None:
    frame = spans((0, 10), (1, 4), (2, 4), (8, 4))
    latency = times("latency", pd.Series([1, 2, 3, 4], dtype="Int64"))
    made = track(*STEPS, frame, pd.Series(["a"] * 4), details=(latency,), most=1)
    assert made.lanes == (1, 2)
    assert shown(made) == [(0, 10, "a"), (1, 5, "several, merged"), (8, 4, "several, merged")]
    assert made.note.endswith("3 more that overlap are merged in the lowest lane")
    assert made.details[0].numbers.tolist() == [1, -1, -1]


def test_rows_without_a_duration_are_points_and_the_note_says_so() -> None:
    made = track(*STEPS, spans((3, None), (9, 1)), pd.Series(["a", "b"]))
    assert shown(made) == [(3, 0, "a"), (9, 1, "b")]
    assert made.note == "marked by the workload; 1 without a duration, drawn as points"
