from hypothesis import given
from hypothesis import strategies as st

from tracekit.machine.state import Known, absent, joined

names = st.sampled_from("abcd")
parts = st.builds(
    Known, st.dictionaries(names, st.floats(0, 1)), st.dictionaries(names, st.just("why"))
)


def test_the_first_reading_counts_and_any_reading_beats_a_reason() -> None:
    first = Known({"a": 1.0}, {"b": "not here"})
    second = Known({"a": 2.0, "b": 3.0}, {"c": "nowhere"})
    assert joined(first, second) == Known({"a": 1.0, "b": 3.0}, {"c": "nowhere"})


def test_the_first_reason_counts() -> None:
    assert joined(absent("x", "a"), absent("y", "a", "b")).absences == {"a": "x", "b": "y"}


@given(st.lists(parts))
def test_nothing_is_both_known_and_absent(some: list[Known]) -> None:
    whole = joined(*some)
    assert not set(whole.readings) & set(whole.absences)
    assert set(whole.readings) == {name for one in some for name in one.readings}
