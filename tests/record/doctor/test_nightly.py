"""What of the machine's state a night could read here."""

from collections.abc import Callable
from dataclasses import replace

from tracekit.machine.state import State
from tracekit.record.doctor.checks import Fact, Verdict, checked
from tracekit.record.doctor.surroundings import Surroundings

Make = Callable[..., Surroundings]


def look(surroundings: Surroundings) -> dict[str, Fact]:
    return {fact.name: fact for fact in checked(surroundings, "nightly")}


def test_a_state_in_which_nothing_would_count_is_a_warning(mac: Make) -> None:
    made = mac()
    state = made.state()
    tired = replace(state, readings={**state.readings, "mains": 0.0, "battery": 0.53})
    fact = look(replace(made, state=lambda: tired))["nightly"]
    assert fact.verdict is Verdict.WARNING
    assert fact.words == "The machine ran on battery at 53.0 %; only mains is allowed."
    assert "inconclusive" in fact.fix


def test_where_all_is_known_there_is_no_row_of_what_is_not(mac: Make) -> None:
    state = State(
        "2026-11-20T10:15:03+00:00", {"load": 0.0}, {"calibration": "no fixed work was done."}
    )
    assert list(look(mac(state=lambda: state))) == ["nightly"]


def test_where_nothing_is_known_that_is_said(mac: Make) -> None:
    state = State("2026-11-20T10:15:03+00:00")
    words = look(mac(state=lambda: state))["nightly"].words
    assert words == "as a night wants it; readable: nothing"
