import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.machine.state import JUDGED, State
from tracekit.nightly.session.measuring import MORE_IS_WORSE, worst

LESS_IS_WORSE = {"gpu_clock", "memory_free", "mains", "battery"}


def test_the_worst_of_each_reading_counts() -> None:
    one = State(
        "01", {"calibration": 5.0, "memory_free": 7.0, "load": 0.1}, {"gpu_clock": "no monitor"}
    )
    two = State(
        "02", {"calibration": 4.0, "memory_free": 9.0, "gpu_clock": 1e9}, {"load": "nobody"}
    )
    assert worst([one, two]) == State(
        "02", {"calibration": 5.0, "memory_free": 7.0, "load": 0.1, "gpu_clock": 1e9}
    )


def test_what_nobody_could_read_keeps_its_reason() -> None:
    state = State("01", {}, {"battery": "no battery"})
    assert worst([state]) == state


def test_no_look_is_no_state() -> None:
    assert worst([]) is None


def test_every_judged_reading_has_a_worse_side() -> None:
    assert set(JUDGED) <= MORE_IS_WORSE | LESS_IS_WORSE


readings = st.dictionaries(
    st.sampled_from(sorted(MORE_IS_WORSE | LESS_IS_WORSE)), st.floats(0, 1e9), max_size=4
)


@given(st.lists(readings, min_size=1, max_size=4))
@pytest.mark.parametrize("name", ["calibration", "gpu_clock"])
def test_no_look_is_worse_than_the_worst(name: str, told: list[dict[str, float]]) -> None:
    found = worst([State(str(number), one) for number, one in enumerate(told)])
    assert found is not None
    seen = [one[name] for one in told if name in one]
    assert found.readings.get(name) == (
        (max(seen) if name in MORE_IS_WORSE else min(seen)) if seen else None
    )
