"""What went on beside steps, and which of it explains the slow ones."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from analysed import intervals, row_of_steps
from tracekit.analysis.rhythm import Explanation, beats, explain, happenings, spikes

Make = Callable[..., pd.DataFrame]
MS = 1_000_000
TABLES = ("gpu_intervals", "compiler_activity", "driver_events")
TABLES = (*TABLES, "gpu_performance_states", "thermal_states", "spans")
COMPILED, LOG = "shaders were compiled", "the workload was in its span “log”"


def rows(*pieces: tuple[int, int], target: bool = True, **words: str) -> pd.DataFrame:
    """Make a table of (start, duration) pairs in ms, with words in columns."""
    starts, lengths = (np.array(column, np.int64) * MS for column in zip(*pieces, strict=True))
    durations = pd.array(lengths, dtype="Int64")
    return pd.DataFrame({"start": starts, "duration": durations, "target": target}).assign(**words)


def explained(*places: int, **tables: pd.DataFrame) -> Explanation:
    """Explain the slow ones of 40 steps of 10 ms, which take 30 ms, by tables."""
    [row] = beats(row_of_steps([30 * MS if p in places else 10 * MS for p in range(40)]), None)
    chosen, excess = spikes(row)
    assert chosen.sum() == len(places)
    return explain(row, chosen, excess, happenings(*(tables.get(name) for name in TABLES)))


SLOW = (104, 20)
STATES = pd.concat([rows((0, 100), (130, 700), state="Maximum"), rows((100, 30), state="Minimum")])
WHOLE = rows((0, 900), state="Minimum", name="decode")


@pytest.mark.parametrize(
    ("tables", "cause"),
    [
        ({"compiler_activity": rows(SLOW)}, COMPILED),
        ({"compiler_activity": rows(SLOW, target=False)}, ""),
        ({"gpu_performance_states": WHOLE, "thermal_states": WHOLE, "spans": WHOLE}, ""),
        ({"gpu_performance_states": STATES}, "the performance state was Minimum"),
        ({"thermal_states": STATES}, "the thermal state was Minimum"),
        ({"spans": rows(SLOW, name="log")}, LOG),
        ({"spans": rows(SLOW, name="idle")}, ""),
        ({"spans": pd.concat([rows(SLOW, name="log"), rows(SLOW, name="compile")])}, COMPILED),
        ({"driver_events": rows(SLOW, event="Wire Memory")}, "the driver wired memory"),
        ({"driver_events": rows(SLOW, event="Something Else")}, ""),
        ({}, ""),
    ],
)
def test_the_most_telling_of_what_lies_in_slow_steps_alone_explains_them(
    tables: dict[str, pd.DataFrame], cause: str
) -> None:
    assert explained(10, **tables).causes == (cause,)


def test_how_many_each_cause_explains_is_said() -> None:
    compiled = {"compiler_activity": rows((105, 18))}
    why = explained(10, 20, **compiled)
    assert why.causes == (COMPILED, "")
    assert why.compiled.tolist() == [18 * MS, 0]
    assert why.sentence == f"What explains them: {COMPILED} (1); 1 stays unexplained."
    assert explained(10, **compiled).sentence == f"What explains it: {COMPILED}."
    assert explained(10).sentence == "Nothing that was recorded explains them."


def test_the_device_is_named_last_and_its_idle_time_is_counted_by_bubbles_too() -> None:
    starts = [(step * 10 + (20 if step > 10 else 0)) * MS for step in range(40)]
    waits = intervals([(start, 9 * MS) for start in starts])
    longer = [(start, (29 if start == 100 * MS else 9) * MS) for start in starts]
    works, blocked = intervals(longer), intervals(longer, others=[(101 * MS, 25 * MS)])
    for frame, cause, within in (
        (waits, "the device had nothing of the target to do", "bubbles"),
        (works, "the device worked longer for the target", ""),
        (blocked, "other processes used the GPU", ""),
    ):
        why = explained(10, gpu_intervals=frame)
        assert (why.causes, why.within) == ((cause,), within)
    both = explained(10, gpu_intervals=waits, compiler_activity=rows((105, 24)))
    assert not both.within, "pipeline-churn has that time"
