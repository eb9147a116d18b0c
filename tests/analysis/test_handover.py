"""Whether a host's marks tell work from preparation."""

from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.analysis.handover import handover_of
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.rules import RULES
from tracekit.analysis.scope import Device
from tracekit.base.recording import Process, Provenance

CPU = (100, 0, 900)  # of a step: by the calling thread, by others until handed over, and after


def device(channel: str = "CPU", clock: str = "host") -> Device:
    rows = pd.DataFrame({"start": [0], "duration": [1], "target": [True], "channel": [channel]})
    return Device(rows.assign(clock=clock), rows)


def steps(submitted: int, cpu: tuple[int, int, int] | None = CPU, **more: Any) -> pd.DataFrame:
    """Make ten steps of 1000 ns, which are handed over after so long."""
    frame = pd.DataFrame({"start": range(0, 10_000, 1_000), "duration": 1_000, "phase": "steady"})
    names = ("submit_cpu", "submit_other_cpu", "wait_cpu")
    frame = frame.assign(submitted=submitted, **dict(zip(names, cpu or (None,) * 3, strict=True)))
    return frame.assign(**more)


def make_spans(name: str, offset: int, length: int) -> pd.DataFrame:
    starts = [start + offset for start in range(0, 10_000, 1_000)]
    return pd.DataFrame({"start": starts, "duration": length, "name": name})


@pytest.mark.parametrize(
    ("kind", "frame", "spans", "computing"),
    [
        ("lazy", steps(100), None, 0.1),
        ("of an older worker", steps(100, None), None, 0.0),
        ("held up by other threads", steps(990, (20, 960, 10)), None, 0.02),
        ("a compile", steps(990, (20, 0, 10)), make_spans("compile", 5, 980), 0.02),
        ("idle steps", steps(990, variant="idle"), None, 0.0),
    ],
)
def test_steps_that_leave_work_to_wait_for_are_divided(
    kind: str, frame: pd.DataFrame, spans: pd.DataFrame | None, computing: float
) -> None:
    assert handover_of(device(), frame, spans).computing == computing, kind


@pytest.mark.parametrize(
    ("kind", "frame", "spans", "where"),
    [
        ("numpy", steps(990, (990, 0, 10)), None, device()),
        ("numpy, with threads that spin", steps(990, (990, 990, 10)), None, device()),
        ("of an older worker", steps(990, None), None, device()),
        ("a sleep", steps(990, (10, 0, 10)), None, device()),
        ("a span of the whole step", steps(990, (10, 0, 10)), make_spans("x", 0, 1000), device()),
        ("evaluated on a GPU", steps(990, (10, 990, 10)), None, device("metal, seen")),
        ("read on a GPU", steps(500, (100, 400, 500)), None, device("metal, seen")),
    ],
)
def test_time_inside_submit_is_not_divided(
    kind: str, frame: pd.DataFrame, spans: pd.DataFrame | None, where: Device
) -> None:
    with pytest.raises(Unavailable, match="inside `submit`"):
        pytest.fail(f"{kind}: {handover_of(where, frame, spans)}")


def test_work_of_no_thread_is_not_the_process_work() -> None:
    with pytest.raises(Unavailable, match=r"computed for 1\.1 % of the time"):
        handover_of(device(), steps(100, (100, 0, 10)), None)


def test_a_gpu_says_itself_when_it_worked() -> None:
    assert handover_of(device(clock="gpu"), steps(1000), None).computing == 0


def test_a_finding_says_that_the_thread_which_hands_over_computed() -> None:
    marked = steps(400, (390, 0, 600), clock="host", tokens=1, index=range(10), variant="")
    work = marked.assign(start=marked["start"] + 400, duration=600, channel="CPU", label="x")
    missing_values = pd.array([None] * 10, dtype="Int64")
    work = work.assign(target=True, start_latency=missing_values, command_buffer=missing_values)
    phases = pd.DataFrame({"start": [0], "duration": [10_000], "name": "steady", "clock": "host"})
    tables = {"gpu_intervals": work, "steps": marked, "phases": phases}
    given_tables = Given(tables, Provenance(targets=(Process(7, "x"),)))
    [finding] = inject(RULES["bubbles"].judge, given_tables)
    assert finding.fact("idle_share") == 0.4
    assert finding.fact("computing") == 0.39
