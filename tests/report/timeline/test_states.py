from typing import Any

from tracekit.report.timeline.track import Track
from tracekit.report.timeline.tracks import states


def lasting(table: str, frame: Any, *rows: tuple[int, int, str | int | None]) -> dict[str, Any]:
    given = [
        {"start": at, "duration": length, "state": state, "clock": "gpu"}
        for at, length, state in rows
    ]
    return {table: frame(table, given)}


def shown(track: Track) -> list[tuple[int, int, str]]:
    rows = zip(track.starts.tolist(), track.durations.tolist(), track.codes.tolist(), strict=True)
    return [(start, length, track.texts[code]) for start, length, code in rows]


def test_a_gpu_is_awake_when_it_is_not_idle(frame: Any) -> None:
    rows = lasting("gpu_states", frame, (0, 5, "Active"), (5, 7, "Idle"), (12, 3, None))
    [track] = states(rows)
    assert shown(track) == [(0, 5, "Active"), (12, 3, "state not stated")]
    assert track.name == "GPU states"
    assert track.note == "all processes; Idle is left out"


def test_a_gpu_that_was_always_idle_has_no_track(frame: Any) -> None:
    assert list(states(lasting("gpu_states", frame, (0, 5, "Idle")))) == []


def test_the_clock_is_told_by_name_where_the_trace_names_it(frame: Any) -> None:
    numbered = lasting("gpu_device_performance_states", frame, (0, 9, 1))
    [by_number] = states(numbered)
    assert shown(by_number) == [(0, 9, "state 1")]
    named = lasting("gpu_performance_states", frame, (0, 9, "Minimum"))
    [by_name] = states({**numbered, **named})
    assert shown(by_name) == [(0, 9, "Minimum")]
    assert (by_name.name, by_name.note) == ("GPU performance", "while the GPU is awake")


def test_heat_is_of_the_machine(frame: Any) -> None:
    [track] = states(lasting("thermal_states", frame, (0, 50, "Nominal"), (50, 5, "Fair")))
    assert shown(track) == [(0, 50, "Nominal"), (50, 5, "Fair")]
    assert (track.name, track.note) == ("Thermal state", "of the machine")


def test_a_recording_without_states_has_none_of_these_tracks() -> None:
    assert list(states({})) == []
