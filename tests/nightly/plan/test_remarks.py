"""What is worth knowing of a plan before its first night."""

from pathlib import Path

from tracekit.nightly.plan.estimate import remarks
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference

MAIN = Reference(revision="main")


def told(capture: Capture) -> tuple[str, ...]:
    return remarks(NightPlan("n", Path("tracekit.toml"), (capture,), Path("nights"), ""))


def test_a_plan_that_gates_what_is_known_needs_no_remark() -> None:
    assert told(Capture("a", "paged", reference=MAIN, metrics=(Gated("step_p50"),))) == ()
    assert told(Capture("a", "paged", reference=MAIN, fail_on=("bubbles",))) == ()


def test_results_of_the_workload_are_named() -> None:
    metrics = (Gated("step_p50"), Gated("hits"))
    (remark,) = told(Capture("a", "churn", reference=MAIN, metrics=metrics))
    assert remark.startswith("a: hits is no metric of tracekit")
    assert "churn" in remark


def test_what_decides_nothing_says_so() -> None:
    (alone,) = told(Capture("a", "paged"))
    assert "no reference" in alone
    (followed,) = told(Capture("a", "paged", reference=MAIN, metrics=(Gated("a", gate=False),)))[1:]
    assert followed == "a: none of its metrics decides."


def test_other_work_needs_a_night_that_was_accepted() -> None:
    other = Reference(workload="sdpa")
    (remark,) = told(Capture("a", "paged", reference=other, metrics=(Gated("step_p50"),)))
    assert "tracekit baseline accept" in remark
