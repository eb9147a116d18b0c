"""From the matrix to verdicts."""

from dataclasses import replace

from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.record.doctor.checks import Fact, Verdict
from tracekit.record.doctor.examine import shown

LAUNCH = Combination(
    "launch", counters=False, backend="metal", rows=150, others=12, dispatches=150, saving=4.0
)
ATTACH = replace(LAUNCH, mode="attach", rows=147, dispatches=147)
COUNTED = replace(LAUNCH, counters=True, counter_set="Performance Limiters", counter_rows=4000)


def look(*ways: Combination) -> dict[str, Fact]:
    matrix = Capabilities(Identity(), "2026-11-20T10:15:03+00:00", ways)
    return {fact.name: fact for fact in shown(matrix, has_xctrace=True)}


def test_rows_of_others_alone_are_no_success() -> None:
    facts = look(replace(LAUNCH, rows=0), replace(ATTACH, rows=0))
    for name in ("probe: launch", "probe: attach"):
        assert facts[name].verdict is Verdict.FAILED
        assert "without a GPU interval of the probe's own; other processes have 12" in (
            facts[name].words
        )
        assert facts[name].fix


def test_a_way_that_fails_beside_one_that_works_is_a_warning_with_the_way_out() -> None:
    facts = look(LAUNCH, replace(ATTACH, rows=0))
    assert facts["probe: launch"].verdict is Verdict.OK
    assert facts["probe: attach"].verdict is Verdict.WARNING
    assert "--method launch" in facts["probe: attach"].fix
    facts = look(replace(LAUNCH, rows=None, failure="xctrace hung."), ATTACH)
    assert facts["probe: launch"].verdict is Verdict.WARNING
    assert facts["probe: launch"].words == "xctrace hung."
    assert "--method attach" in facts["probe: launch"].fix


def test_fewer_rows_than_dispatches_are_said() -> None:
    fact = look(replace(LAUNCH, rows=149), ATTACH)["probe: launch"]
    assert fact.verdict is Verdict.WARNING
    assert "149 GPU intervals of the probe's own for 150 dispatches" in fact.words


def test_a_probe_on_the_cpu_proves_nothing_of_the_gpu() -> None:
    cpu = replace(LAUNCH, backend="cpu", rows=0, dispatches=None)
    fact = look(cpu, ATTACH)["probe: launch"]
    assert fact.verdict is Verdict.FAILED
    assert "ran on the CPU" in fact.words
    assert "ran on the CPU" in look(replace(cpu, rows=5))["probe: launch"].words


def test_dispatches_that_nobody_counted_are_not_made_up() -> None:
    fact = look(replace(LAUNCH, dispatches=None))["probe: launch"]
    assert fact.verdict is Verdict.OK
    assert "not known" in fact.words


def test_counters_without_rows_are_not_available_and_say_the_ways_out() -> None:
    rejected = replace(COUNTED, counter_rows=0, counter_set="")
    fact = look(LAUNCH, rejected)["probe: counters"]
    assert fact.verdict is Verdict.WARNING
    assert fact.words == "GPU counters are not available on this chip and Xcode."
    assert "--template" in fact.fix
    failing = replace(COUNTED, counter_rows=None, failure="No such instrument.")
    assert "No such instrument." in look(LAUNCH, failing)["probe: counters"].words


def test_counters_are_of_the_whole_gpu_and_need_no_rows_of_the_probe() -> None:
    fact = look(LAUNCH, replace(COUNTED, rows=0))["probe: counters"]
    assert fact.verdict is Verdict.OK
    assert "4,000 samples" in fact.words


def test_counters_of_which_no_trace_could_be_read_are_unknown() -> None:
    assert look(LAUNCH)["probe: counters"].verdict is Verdict.UNKNOWN
    full = replace(COUNTED, rows=None, counter_rows=None, failure="The disk is full.")
    fact = look(LAUNCH, full)["probe: counters"]
    assert fact.verdict is Verdict.UNKNOWN
    assert "not available" not in fact.words


def test_rows_that_could_not_be_read_are_not_zero() -> None:
    fact = look(replace(LAUNCH, rows=None, others=None))["probe: launch"]
    assert fact.verdict is Verdict.FAILED
    assert "not known" in fact.words
