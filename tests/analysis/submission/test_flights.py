"""Command buffers in flight, and the waits of a program for all of them."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.submission import Waits, between_steps, encoding, flights

Handed = Callable[..., tuple[pd.DataFrame, ...]]
US = 1_000

# begun, committed, start on the device, end, complete
TURNS = [(0, 10, 20, 90, 100), (110, 120, 130, 190, 200), (230, 240, 250, 290, 300)]
AHEAD = [(0, 10, 20, 90, 100), (10, 20, 90, 190, 200), (100, 110, 190, 290, 300)]


def test_the_number_in_flight_over_time(handed_over: Handed, targets: pd.DataFrame) -> None:
    _, submissions, completions = handed_over(AHEAD)
    depths = flights(submissions, completions, None, targets).depths(Window(0, 400 * US))
    assert depths.starts.tolist() == [at * US for at in (0, 10, 20, 100, 110, 200, 300)]
    assert depths.depths.tolist() == [0, 1, 2, 1, 2, 1, 0]
    assert depths.share(0, 1) == pytest.approx((10 + 10 + 10 + 100 + 100) / 400)
    assert depths.mean == pytest.approx((90 + 180 + 190) / 400)
    assert depths.at(2)[0].tolist() == [20 * US, 110 * US]


def test_a_window_cuts_flights(handed_over: Handed, targets: pd.DataFrame) -> None:
    _, submissions, completions = handed_over(AHEAD)
    depths = flights(submissions, completions, None, targets).depths(Window(50 * US, 150 * US))
    assert depths.depths.tolist() == [2, 1, 2]
    assert depths.mean == pytest.approx(1.9)


def test_a_program_that_takes_turns_waits_each_time(
    handed_over: Handed, targets: pd.DataFrame
) -> None:
    _, submissions, completions = handed_over(TURNS)
    waits = flights(submissions, completions, None, targets).waits(Window(0, 400 * US))
    assert waits.starts.tolist() == [100 * US, 200 * US]
    assert waits.ends.tolist() == [120 * US, 240 * US]


def test_a_program_that_submits_ahead_never_waits_for_all(
    handed_over: Handed, targets: pd.DataFrame
) -> None:
    _, submissions, completions = handed_over(AHEAD)
    waits = flights(submissions, completions, None, targets).waits(Window(0, 400 * US))
    assert waits.starts.size == 0


def test_a_late_program_does_not_wait(handed_over: Handed, targets: pd.DataFrame) -> None:
    _, submissions, completions = handed_over([(0, 10, 20, 90, 100), (50, 150, 160, 190, 200)])
    waits = flights(submissions, completions, None, targets).waits(Window(0, 400 * US))
    assert waits.starts.size == 0


def test_waits_outside_the_window_do_not_count(handed_over: Handed, targets: pd.DataFrame) -> None:
    _, submissions, completions = handed_over(TURNS)
    found = flights(submissions, completions, None, targets)
    assert found.waits(Window(150 * US, 400 * US)).starts.tolist() == [200 * US]
    assert found.waits(Window(0, 110 * US)).starts.size == 0


def test_encoders_say_when_a_command_buffer_was_begun(
    handed_over: Handed, targets: pd.DataFrame
) -> None:
    _, submissions, completions = handed_over([(0, 10, 20, 90, 100), (110, 150, 160, 190, 200)])
    encoders = pd.DataFrame(
        {
            "start": [60 * US, 120 * US, 70 * US],
            "duration": pd.array([5 * US, 5 * US, 5 * US], dtype="Int64"),
            "target": [True, True, False],
            "command_buffer": pd.array([101, 101, 101], dtype="UInt64"),
        }
    )
    found = flights(submissions, completions, encoders, targets)
    assert found.begun.tolist() == [0, 60 * US]
    assert encoding(submissions, encoders)[0].tolist() == [60 * US, 120 * US]
    assert encoding(submissions, None)[0].tolist() == [0, 110 * US]
    assert encoding(submissions, None)[1].tolist() == [10 * US, 150 * US]


def test_what_cannot_be_joined_is_left_out(handed_over: Handed, targets: pd.DataFrame) -> None:
    _, submissions, completions = handed_over(TURNS)
    found = flights(submissions, completions.iloc[[2, 0]], None, targets)
    assert found.committed.tolist() == [10 * US, 240 * US]
    doubled = pd.concat([submissions, submissions.iloc[:1]])
    assert flights(doubled, completions, None, targets).committed.size == 2
    with pytest.raises(Unavailable, match="no command buffer of the target has both"):
        flights(submissions, completions.iloc[:0], None, targets)


def test_events_of_unknown_names_are_named(handed_over: Handed, targets: pd.DataFrame) -> None:
    _, submissions, completions = handed_over(TURNS)
    names = pd.array(["SomethingElse", None, "SomethingElse"], dtype="string")
    other = submissions.assign(event=names)
    with pytest.raises(Unavailable, match=r"are commits is not known: SomethingElse, no name\."):
        flights(other, completions, None, targets)


def test_an_unknown_target_has_no_flights(handed_over: Handed, nobody: pd.DataFrame) -> None:
    _, submissions, completions = handed_over(TURNS)
    with pytest.raises(Unavailable, match="target is not known"):
        flights(submissions, completions, None, nobody)


def test_waits_between_steps_hold_a_start_or_the_last_end() -> None:
    starts = np.array([40, 90, 170, 380], dtype=np.int64) * US
    ends = np.array([60, 110, 190, 410], dtype=np.int64) * US
    one = pd.DataFrame({"start": [0], "duration": [400 * US]})
    three = pd.DataFrame({"start": [200 * US, 0, 100 * US], "duration": [100 * US] * 3})
    assert between_steps(Waits(starts, ends), one).tolist() == [False, False, False, True]
    assert between_steps(Waits(starts, ends), three).tolist() == [False, True, False, False]
    assert between_steps(Waits(starts, ends + 9 * US), three).tolist() == [False, True, True, False]
    assert between_steps(Waits(starts[:0], ends[:0]), one).tolist() == []
