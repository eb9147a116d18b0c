import pytest

from tracekit.base.errors import InputError
from tracekit.workload.workload import Measured, Step, measured


def test_a_step_that_says_little_tells_nothing_and_never_runs_out() -> None:
    step = Step(int, lambda _: None, "cpu")
    step.begin()
    assert (step.exhausted(), dict(step.finish()), step.tell) == (False, {}, None)


def test_plain_numbers_are_measurements_without_a_unit() -> None:
    told = measured({"error": 0.5, "ttft": Measured(3, "ns", "lower")})
    assert told == {"error": Measured(0.5), "ttft": Measured(3, "ns", "lower")}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_has_a_reason(value: float) -> None:
    assert measured({"error": value})["error"] == Measured(None, reason=f"it is {value}")


@pytest.mark.parametrize("value", ["fast", Measured(None), Measured("fast")])
def test_a_result_without_number_or_reason_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="The result 'speed' of a step must be a number"):
        measured({"speed": value})  # type: ignore[dict-item]
