from hypothesis import given
from hypothesis import strategies as st

from tracekit.machine.state import State, absent, joined

names = st.sampled_from(("a", "b", "c"))
parts = st.builds(
    State,
    st.just(""),
    st.dictionaries(names, st.floats(0, 1)),
    st.dictionaries(names, st.just("why")),
)


def test_the_first_reading_counts_and_a_reading_goes_before_any_reason() -> None:
    first = State("", {"a": 1.0}, {"b": "not here"})
    second = State("", {"a": 2.0, "b": 3.0}, {"c": "nowhere"})
    assert joined(first, second, at="now") == State("now", {"a": 1.0, "b": 3.0}, {"c": "nowhere"})
    assert absent("why", "a", "b").absences == {"a": "why", "b": "why"}


@given(st.lists(parts))
def test_nothing_is_both_known_and_absent(some: list[State]) -> None:
    joint = joined(*some)
    assert not joint.readings.keys() & joint.absences.keys()
    assert joint.readings.keys() == {name for part in some for name in part.readings}
