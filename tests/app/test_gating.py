"""The gate of `kernel verify`, from literal counts of launches."""

import re
from pathlib import Path

import pytest

from tracekit.analysis.dispatches import AnswerState
from tracekit.app.checking import report_of
from tracekit.app.gating import QUANTITIES, check_launches, find_counted, read_gate
from tracekit.base import UsageError
from tracekit.lab.msl.counting import Counted
from tracekit.lab.verification.verify import CountedLaunch, Verification
from tracekit.nightly import Outcome

# The matmul of a real capture: 17,408 bytes, three barriers, two of them in a loop.
MATMUL = CountedLaunch(
    kernel="matmul",
    threads=65_536,
    threadgroup=256,
    groups=256,
    threadgroup_memory=17_408,
    barriers=3,
    barriers_in_loops=2,
    barriers_met=33,
    simd_operations=71_680,
    divergent_operations=0,
    loaded=4_456_448,
    stored=262_144,
    touched=786_432,
)


def judge(gate: str, *launches: CountedLaunch) -> tuple[Outcome, list[AnswerState]]:
    verification = Verification("matmul.metal", {}, ("matmul",), (), launches=launches)
    check = check_launches("matmul.metal", [verification], read_gate([gate]))
    states = [answer.state for launch in check.dispatches for answer in launch.expected]
    return check.outcome, states


def test_each_launch_is_compared_with_all_expectations() -> None:
    as_expected = AnswerState.AS_EXPECTED
    gate = "threadgroup_memory<=17408, barriers==3, barriers_in_loops<=2, loaded==68, stored==4"
    assert judge(gate, MATMUL) == (Outcome.OK, [as_expected] * 5)
    outcome, states = judge("threadgroup_memory<=16384, barriers_in_loops<=2", MATMUL)
    assert outcome is Outcome.REGRESSION
    assert states == [AnswerState.DEVIATING, as_expected]


def test_operations_that_were_not_counted_are_missing() -> None:
    assert find_counted(read_gate(["operations<=100, divergent_branches==0"])) == [*Counted]
    assert find_counted(read_gate(["loaded<=100"])) == []
    outcome, states = judge("operations<=1000", MATMUL)
    assert (outcome, states) == (Outcome.INCONCLUSIVE, [AnswerState.NOT_RECORDED])


def test_a_function_chooses_launches() -> None:
    assert judge("function~mat, barriers==3", MATMUL)[0] is Outcome.OK
    assert judge("function==other, barriers==3", MATMUL)[0] is Outcome.INCONCLUSIVE
    assert judge("barriers==3")[0] is Outcome.INCONCLUSIVE


def test_a_gate_is_read_as_it_is_written() -> None:
    gate = read_gate(["threadgroup_memory<=16384, barriers_in_loops<=2", "groups>1,"])
    assert list(map(str, gate)) == ["threadgroup_memory<=16384", "barriers_in_loops<=2", "groups>1"]
    for texts, reports, words in (
        (["registers<=64"], (), "has no quantity 'registers'"),
        (["threadgroup_memory"], (), "is not an expectation"),
        (["function~mat"], (), "expects nothing"),
        ([], ("junit",), "Only a gate has a report"),
    ):
        with pytest.raises(UsageError, match=words):
            read_gate(texts, reports)


def test_the_report_is_about_launches() -> None:
    verification = Verification("matmul.metal", {}, ("matmul",), (), launches=(MATMUL,))
    check = check_launches("matmul.metal", [verification], read_gate(["barriers<3"]))
    assert check.verdict == "Not as expected: 1 of 1 answers about 1 launch."
    assert report_of(check, "launches").title == "The launches of matmul.metal"


def test_every_quantity_is_on_the_how_to_page() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "verify-a-kernel-without-a-mac.md"
    text = page.read_text().partition("## A gate on exact counts")[2].partition("\n## ")[0]
    assert set(QUANTITIES) <= set(re.findall(r"`([a-z_]+)`", text))
