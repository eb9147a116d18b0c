"""Whether a pair counts: literal states, each held against one limit."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tracekit.machine.state import (
    JUDGED,
    State,
    StateLimits,
    describe_unjudged,
    find_rejections,
    join_states,
    make_absences,
    unknown,
    window_words,
)

AT = "2026-11-20T02:30:00.000+00:00"
ANYTHING = StateLimits(
    calibration=None, clock=None, load=None, memory_free=None, battery=0.0,
    thermal_pressure=None, gpu_others=None, low_power=True,
)  # fmt: skip
NUMBERS = (1e6, 1.4e9, 0.02, float(8 << 30), 1.0, 1.0, 0.0, 0.01, 0.0)
QUIET = State(AT, dict(zip(JUDGED, NUMBERS, strict=True)))


def state(**readings: float) -> State:
    return State(AT, readings)


def judge(
    state_before: State, state_after: State, *session_states: State, **limits: float | bool | None
) -> list[str]:
    return list(
        find_rejections(state_before, state_after, session_states, replace(ANYTHING, **limits))
    )  # type: ignore[arg-type]


def test_slow_calibration_is_compared_with_the_fastest_of_the_session() -> None:
    session_states = [state(calibration=value) for value in (100, 101, 102, 110)]
    [reason] = judge(
        state(calibration=102), state(calibration=124), *session_states, calibration=0.15
    )
    assert reason.startswith("Fixed work took 22.8 % longer than at its fastest in this session; ")
    assert not judge(
        state(calibration=102), state(calibration=116), *session_states, calibration=0.15
    )
    lucky = [state(calibration=value) for value in (50, 100, 100, 100)]
    assert not judge(state(calibration=100), state(calibration=105), *lucky, calibration=0.15)
    assert judge(state(calibration=100), state(calibration=200), calibration=0.15)
    assert not judge(state(calibration=100), state(calibration=110), calibration=0.15)


def test_repeated_states_count_once() -> None:
    state_before, state_after = state(calibration=100), state(calibration=130)
    earlier_states = [state(calibration=110), state(calibration=130)]
    alone = find_rejections(state_before, state_after, earlier_states, StateLimits())
    assert (
        find_rejections(
            state_before, state_after, [*earlier_states, state_before, state_after], StateLimits()
        )
        == alone
        != ()
    )


def test_a_low_clock_is_held_against_the_highest_of_the_session() -> None:
    session_states = [state(gpu_clock=value * 1e9) for value in (1.4, 1.39, 1.38, 1.0)]
    [reason] = judge(state(), state(gpu_clock=1.21e9), *session_states, clock=0.05)
    assert reason.startswith("The GPU's clock was 12.9 % lower than at its highest")
    assert "(1.21 GHz against 1.39 GHz)" in reason
    assert not judge(state(), state(gpu_clock=1.35e9), *session_states, clock=0.05)


def test_each_reason_has_its_numbers_and_its_limit() -> None:
    for readings, limits, reason in (
        ({"load": 0.62}, {"load": 0.5}, "had 62.0 % of the cores' time; at most 50.0 %"),
        ({"gpu_others": 0.08}, {"gpu_others": 0.05}, "had 8.0 % of the GPU's time; at most 5.0 %"),
        ({"memory_free": 700 << 20}, {"memory_free": 1 << 30}, "700 MiB of memory were free; at"),
        ({"mains": 0, "battery": 0.53}, {"battery": None}, "on battery at 53.0 %; only mains is"),
        ({"mains": 0}, {"battery": None}, "The machine ran on battery; only mains is allowed."),
        ({"mains": 0, "battery": 0.19}, {"battery": 0.2}, "on battery at 19.0 %; at least 20.0 %"),
        ({"thermal_pressure": 2}, {"thermal_pressure": 0}, "was Moderate; at most Nominal is"),
        ({"thermal_pressure": 17}, {"thermal_pressure": 1}, "was 17; at most Light is allowed."),
        ({"low_power": 1}, {"low_power": False}, "it was in a low power mode."),
    ):
        tired = state(**readings)
        for pair in ((QUIET, tired), (tired, QUIET), (tired, tired)):
            assert [reason in message for message in judge(*pair, **limits)] == [True], (
                pair,
                reason,
            )
        assert not judge(tired, tired), readings


def test_a_limit_is_met_at_the_limit_and_nothing_is_where_nobody_looked() -> None:
    limit_state = state(load=0.5, gpu_others=0.05, memory_free=1 << 30, thermal_pressure=0)
    assert find_rejections(limit_state, limit_state, (), StateLimits()) == ()
    assert not judge(state(mains=0, battery=0.2), QUIET, battery=0.2)
    session = [state(calibration=100, gpu_clock=1e9)] * 3
    assert not judge(state(), state(calibration=125), *session, calibration=0.25)
    assert not judge(state(), state(gpu_clock=0.75e9), *session, clock=0.25)
    assert find_rejections(None, None, (), StateLimits()) == ()
    assert find_rejections(State(AT), None, (QUIET,), StateLimits()) == ()
    # on mains no charge is too little
    assert not judge(state(mains=1, battery=0.01), QUIET, battery=0.5)
    assert not judge(state(battery=0.01), QUIET, battery=0.5)


def test_unknown_states_are_reported_once_with_their_reason() -> None:
    blind = State(AT, {"load": 0.1}, {"gpu_clock": "no monitor.", "calibration": "no fixed work."})
    other_state = State(AT, {"calibration": 5.0}, {"gpu_clock": "ioreg does not tell it."})
    assert unknown([blind, blind]) == (
        "The duration of fixed work is not known: no fixed work.",
        "The GPU's clock is not known: no monitor.",
    )
    assert unknown([blind, other_state]) == (
        "The GPU's clock is not known: no monitor. ioreg does not tell it.",
    )
    assert unknown([]) == ()


def test_a_night_reports_unknown_states_in_one_sentence() -> None:
    blind = State(AT, {"load": 0.1}, dict.fromkeys(set(JUDGED) - {"load"}, "why."))
    part = replace(QUIET, readings={name: 1.0 for name in JUDGED if name not in {"mains", "load"}})
    assert (
        describe_unjudged([QUIET])
        == describe_unjudged([blind, QUIET])
        == describe_unjudged([])
        == ""
    )
    assert describe_unjudged([blind, part]).startswith(
        "Not known here, and so not judged: whether the machine is on mains. "
    )


names = st.sampled_from(("a", "b", "c"))
parts = st.builds(
    State,
    st.just(""),
    st.dictionaries(names, st.floats(0, 1)),
    st.dictionaries(names, st.just("why")),
)


def test_the_first_reading_counts_and_a_reading_goes_before_any_reason() -> None:
    first_state = State("", {"a": 1.0}, {"b": "not here"})
    second = State("", {"a": 2.0, "b": 3.0}, {"c": "nowhere"})
    assert join_states(first_state, second, time="now") == State(
        "now", {"a": 1.0, "b": 3.0}, {"c": "nowhere"}
    )
    assert make_absences("why", "a", "b").absences == {"a": "why", "b": "why"}


@given(st.lists(parts))
def test_nothing_is_both_known_and_absent(some: list[State]) -> None:
    joint = join_states(*some)
    assert not joint.readings.keys() & joint.absences.keys()
    assert joint.readings.keys() == {name for part in some for name in part.readings}


def test_a_window_is_said_from_the_least_to_the_most_of_each_reading() -> None:
    states = [
        State(readings={"load": 0.03, "calibration": 1e6, "memory_free": 5 << 30, "mains": 1.0}),
        State(readings={"load": 0.12, "calibration": 1.02e6, "memory_free": 4 << 30}),
    ]
    assert window_words(states) == (
        "Other processes had 3.0 % to 12.0 % of the cores' time; fixed work varied by 2.0 %; "
        "free memory was 4 GiB or more."
    )
    hot = State(readings={"thermal_pressure": 2.0, "mains": 0.0, "low_power": 1.0})
    assert window_words([hot]) == (
        "Thermal pressure was Moderate at most; it ran on battery; the system saved power."
    )
    assert window_words([State()]) == "Nothing could be read of the machine."
    assert window_words([]) == ""
