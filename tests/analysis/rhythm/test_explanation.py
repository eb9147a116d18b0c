"""What went on beside steps, and which of it explains the slow ones."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from tracekit.analysis.rhythm import Beats, beats, explain, happenings, spikes

Make = Callable[..., pd.DataFrame]
MS = 1_000_000


def rows(
    pieces: list[tuple[int, int]], column: str = "", word: str = "", *, target: bool = True
) -> pd.DataFrame:
    """Make a table of (start, duration) pairs in ms, with a word in one column."""
    starts, lengths = (np.array(one, dtype=np.int64) * MS for one in zip(*pieces, strict=True))
    frame = pd.DataFrame(
        {"start": starts, "duration": pd.array(lengths, dtype="Int64"), "target": target}
    )
    return frame.assign(**{column: word}) if column else frame


def slow_at(row_of_steps: Make, *places: int) -> tuple[Beats, np.ndarray, np.ndarray]:
    """Make 40 steps of 10 ms, of which the given ones take 30 ms."""
    times = [30 * MS if place in places else 10 * MS for place in range(40)]
    [one] = beats(row_of_steps(times), None)
    found = spikes(one)
    assert found.chosen.sum() == len(places)
    return one, found.chosen, found.excess


def test_what_lies_in_slow_steps_alone_explains_them(row_of_steps: Make) -> None:
    compiled = rows([(105, 18)])
    why = explain(
        *slow_at(row_of_steps, 10, 20), happenings(None, compiled, None, None, None, None)
    )
    assert why.causes == ("shaders were compiled", "")
    assert why.compiled.tolist() == [18 * MS, 0]
    assert why.sentence == "What explains them: shaders were compiled (1); 1 stays unexplained."


def test_compiles_of_others_explain_nothing(row_of_steps: Make) -> None:
    compiled = rows([(105, 18)], target=False)
    why = explain(*slow_at(row_of_steps, 10), happenings(None, compiled, None, None, None, None))
    assert why.causes == ("",)
    assert why.sentence == "Nothing that was recorded explains them."


def test_what_lies_in_all_steps_explains_nothing(row_of_steps: Make) -> None:
    states = rows([(0, 900)], "state", "Minimum")
    decode = rows([(0, 900)], "name", "decode")
    why = explain(*slow_at(row_of_steps, 10), happenings(None, None, None, states, states, decode))
    assert why.causes == ("",)


def test_a_state_of_the_machine_in_slow_steps_is_named(row_of_steps: Make) -> None:
    states = pd.concat(
        [
            rows([(0, 100), (130, 700)], "state", "Maximum"),
            rows([(100, 30)], "state", "Minimum"),
        ]
    )
    why = explain(*slow_at(row_of_steps, 10), happenings(None, None, None, states, None, None))
    assert why.causes == ("the performance state was Minimum",)


def test_the_more_telling_of_two_is_named(row_of_steps: Make) -> None:
    spans = pd.concat([rows([(104, 20)], "name", "log"), rows([(104, 20)], "name", "compile")])
    why = explain(*slow_at(row_of_steps, 10), happenings(None, None, None, None, None, spans))
    assert why.causes == ("shaders were compiled",)


def test_a_span_of_the_workload_is_named(row_of_steps: Make) -> None:
    spans = rows([(104, 20)], "name", "log")
    why = explain(*slow_at(row_of_steps, 10), happenings(None, None, None, None, None, spans))
    assert why.causes == ("the workload was in its span “log”",)


def test_wiring_memory_is_named(row_of_steps: Make) -> None:
    events = rows([(104, 20)], "event", "Wire Memory")
    other = rows([(104, 20)], "event", "Something Else")
    slow = slow_at(row_of_steps, 10)
    assert explain(*slow, happenings(None, None, events, None, None, None)).causes == (
        "the driver wired memory",
    )
    assert explain(*slow, happenings(None, None, other, None, None, None)).causes == ("",)


def test_the_device_is_named_last(row_of_steps: Make, intervals: Make) -> None:
    slow = slow_at(row_of_steps, 10)
    starts = [step * 10 + (20 if step > 10 else 0) for step in range(40)]
    early = [(start * MS, 9 * MS) for start in starts]
    late = [(start * MS, 29 * MS if step == 10 else 9 * MS) for step, start in enumerate(starts)]
    blocked = intervals(late, others=[(101 * MS, 25 * MS)])
    said = [
        explain(*slow, happenings(frame, None, None, None, None, None)).causes
        for frame in (intervals(early), intervals(late), blocked)
    ]
    assert said == [
        ("the device had nothing of the target to do",),
        ("the device worked longer for the target",),
        ("other processes used the GPU",),
    ]


def test_nothing_recorded_is_no_row() -> None:
    found = happenings(None, None, None, None, None, None)
    assert found.empty
    assert list(found.columns) == ["start", "duration", "what", "rank"]


def test_one_slow_step_is_spoken_of_as_one(row_of_steps: Make) -> None:
    found = happenings(None, rows([(105, 18)]), None, None, None, None)
    assert explain(*slow_at(row_of_steps, 10), found).sentence == (
        "What explains it: shaders were compiled."
    )


def test_idle_time_of_the_device_is_counted_by_bubbles_too(
    row_of_steps: Make, intervals: Make
) -> None:
    slow = slow_at(row_of_steps, 10)
    starts = [step * 10 + (20 if step > 10 else 0) for step in range(40)]
    waits = intervals([(start * MS, 9 * MS) for start in starts])
    works = intervals([(at * MS, (29 if at == 100 else 9) * MS) for at in starts])
    compiled = rows([(105, 24)])
    assert explain(*slow, happenings(waits, None, None, None, None, None)).within == "bubbles"
    assert not explain(*slow, happenings(works, None, None, None, None, None)).within
    both = explain(*slow, happenings(waits, compiled, None, None, None, None))
    assert not both.within, "pipeline-churn has that time"
