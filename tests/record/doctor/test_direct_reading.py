"""The doctor says what comparing bundles with exports has shown."""

from tracekit.record.direct_reading import Checked, Memory
from tracekit.record.doctor.checks import Verdict
from tracekit.record.doctor.examine import direct_facts

EQUAL = {
    "a 1": Checked("a", 1_000, "2026-11-20T10:15:03+00:00"),
    "b 1": Checked("b", 20, "2026-11-20T10:15:03+00:00"),
    "c 1": Checked("c", 0, "2026-11-20T10:15:03+00:00"),
}
OTHER = Checked("d", 5, "2026-11-20T10:15:03+00:00", "row 1, duration: 7 directly, 8 exported")


def test_without_xctrace_there_is_nothing_to_compare() -> None:
    (fact,) = direct_facts(Memory(""), has_xctrace=False)
    assert fact.verdict is Verdict.NOT_APPLICABLE


def test_a_build_that_was_never_compared_says_what_will_compare_it() -> None:
    (fact,) = direct_facts(Memory("17C529"), has_xctrace=True)
    assert (fact.verdict, fact.words) == (Verdict.UNKNOWN, "not checked yet for build 17C529")
    assert "tracekit capture" in fact.fix
    assert not fact.needed


def test_tables_that_were_equal_are_counted_with_their_rows() -> None:
    (fact,) = direct_facts(Memory("17C529", EQUAL), has_xctrace=True)
    assert fact.verdict is Verdict.OK
    assert fact.words == (
        "verified for build 17C529: 2 tables, 1,020 rows compared; 1 without rows"
    )


def test_what_differs_is_a_warning_of_its_own() -> None:
    memory = Memory("17C529", {**EQUAL, "d 1": OTHER})
    equal, other = direct_facts(memory, has_xctrace=True)
    assert equal.verdict is Verdict.OK
    assert (other.name, other.verdict) == ("direct reading: d", Verdict.WARNING)
    assert other.words == "differs: row 1, duration: 7 directly, 8 exported."
    assert "Report it" in other.fix
