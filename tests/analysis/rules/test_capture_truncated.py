"""`capture-truncated`: a recording or an export that was cut."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Severity
from tracekit.analysis.rules import RULES
from tracekit.base.recording import Provenance, Stage

Make = Callable[..., pd.DataFrame]
judge = RULES["capture-truncated"].judge
SECOND = 1_000_000_000


def capture(**known: Any) -> Provenance:
    return Provenance(**known)


def remarks(*rows: tuple[str, str]) -> pd.DataFrame:
    cells = [(flaw, "", "metal-gpu-intervals", "", text) for flaw, text in rows]
    names = ["flaw", "table", "schema", "columns", "text"]
    return pd.DataFrame(cells, columns=names, dtype="string")


def steps(*spans: tuple[int, int], variant: str | None = None) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": [start for start, _ in spans],
            "duration": pd.array([length for _, length in spans], dtype="Int64"),
            "phase": pd.array(["steady"] * len(spans), dtype="string"),
            "variant": pd.array([None] * (len(spans) - 1) + [variant], dtype="string"),
        }
    )


def test_a_whole_recording_is_passed(intervals: Make, phases: Make) -> None:
    frame = intervals([(SECOND, SECOND), (2 * SECOND, 8 * SECOND)])
    whole = capture(stages={"record": Stage("done", ""), "export": Stage("done", "")})
    assert not list(judge(whole, remarks(), frame, phases(SECOND, 9 * SECOND), None))


def test_damaged_exports_are_named_once(intervals: Make) -> None:
    said = remarks(("damaged", "a.xml: cut after row 7."), ("damaged", "a.xml: cut after row 7."))
    [finding] = judge(capture(), said, intervals([(0, 5)]), None, None)
    assert finding.severity is Severity.ERROR
    assert finding.message.count("a.xml: cut after row 7.") == 1


def test_drift_is_no_damage(intervals: Make) -> None:
    said = remarks(("lacking", "columns that the export lacks: label"))
    assert not list(judge(capture(), said, intervals([(0, 5)]), None, None))


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ({"record": Stage("failed", "", "xctrace hung.")}, "`record` did not .* xctrace hung"),
        ({"record": Stage("running", "")}, "nobody saw it end"),
        ({"export": Stage("interrupted", "", "stopped")}, "`export` did not .* stopped"),
    ],
)
def test_a_stage_that_did_not_end_is_reported(stages: dict[str, Stage], message: str) -> None:
    [finding] = judge(capture(stages=stages), remarks(), None, None, None)
    assert finding.severity is Severity.ERROR
    assert pd.Series([finding.message]).str.contains(message).all()


def test_a_recording_that_a_person_stopped_is_whole_as_far_as_it_goes(intervals: Make) -> None:
    stopped = capture(stages={"record": Stage("interrupted", "", "stopped early")})
    assert not list(judge(stopped, remarks(), intervals([(0, 5)]), None, None))


def test_device_work_that_ends_long_before_the_steps_was_cut(intervals: Make, phases: Make) -> None:
    frame = intervals([(SECOND, 4 * SECOND)])
    known = capture(end_reason="Time limit reached")
    [finding] = judge(known, None, frame, phases(SECOND, 9 * SECOND), None)
    assert "ends 5 s before" in finding.message
    assert "55.6 %" in finding.message
    assert "Time limit reached" in finding.message
    assert finding.evidence == (Evidence("gpu_intervals", 5 * SECOND, 10 * SECOND, "not recorded"),)


def test_device_work_that_begins_long_after_the_steps_was_cut(
    intervals: Make, phases: Make
) -> None:
    frame = intervals([(4 * SECOND, 6 * SECOND)])
    [finding] = judge(capture(), None, frame, phases(SECOND, 9 * SECOND), None)
    assert "begins 3 s after" in finding.message
    [evidence] = finding.evidence
    assert (evidence.start, evidence.end) == (SECOND, 4 * SECOND)


def test_work_outside_of_the_steady_phase_means_that_all_of_it_is_missing(
    intervals: Make, phases: Make
) -> None:
    [finding] = judge(capture(), None, intervals([(0, 5)]), phases(SECOND, SECOND), None)
    assert "100.0 % of the steady phase" in finding.message


def test_what_the_clocks_may_be_off_is_no_cut(intervals: Make, phases: Make) -> None:
    frame = intervals([(SECOND, SECOND)])
    late = phases(SECOND, SECOND + 150_000_000)
    assert len(list(judge(capture(), None, frame, late, None))) == 1
    unsure = capture(clock={"uncertainty": 60_000_000})
    assert not list(judge(unsure, None, frame, late, None))


def test_steps_that_only_waited_for_load_need_no_work(intervals: Make, phases: Make) -> None:
    frame = intervals([(SECOND, SECOND)])
    waited = steps((SECOND, SECOND), (2 * SECOND, 8 * SECOND), variant="idle")
    assert not list(judge(capture(), None, frame, phases(SECOND, 9 * SECOND), waited))
    worked = steps((SECOND, SECOND), (2 * SECOND, 8 * SECOND))
    assert len(list(judge(capture(), None, frame, phases(SECOND, 9 * SECOND), worked))) == 1


def test_a_workload_that_never_became_steady_is_reported(intervals: Make, phases: Make) -> None:
    early = phases(SECOND, SECOND).iloc[:1]
    [finding] = judge(capture(), None, intervals([(0, 5)]), early, None)
    assert "did not come to its steady phase" in finding.message


def test_marks_without_work_of_the_target_beside_them_tell_nothing(
    intervals: Make, phases: Make
) -> None:
    marks = phases(SECOND, SECOND)
    for frame in (intervals([], others=[(0, 5)]), None):
        with pytest.raises(Unavailable, match="no device interval of the target"):
            list(judge(capture(), remarks(), frame, marks, None))


def test_steps_tell_when_work_should_be_there_without_phases(
    intervals: Make, row_of_steps: Make
) -> None:
    frame, steps = intervals([(0, SECOND)]), row_of_steps([SECOND, SECOND])
    [finding] = judge(capture(), None, frame, None, steps)
    assert "50.0 % of the steady phase is not in the recording" in finding.message


def test_it_abstains_where_nothing_can_be_looked_at() -> None:
    with pytest.raises(Unavailable, match="neither exports nor device intervals"):
        list(judge(capture(), None, None, None, None))
