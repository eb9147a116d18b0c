"""A threadgroup that a pipeline does not hold, in MLX's own words."""

from tracekit.base.errors import TracekitError
from tracekit.workload.threadgroups import advise_threadgroup
from tracekit.workload.worker.stopping import failure_of

REFUSED = (
    "Thread group size (1024) is greater than  the maximum allowed threads per threadgroup (904)."
)


def test_advice_names_the_largest_number_of_whole_simdgroups() -> None:
    advice = advise_threadgroup(REFUSED)
    assert advice.startswith("The pipeline of this kernel holds 904 threads of the 1024 on this")
    assert "at most 896," in advice
    assert "[[max_total_threads_per_threadgroup(1024)]]" in advice
    assert advise_threadgroup("Thread group size must be positive.") == ""


def test_the_failure_of_a_workload_has_the_advice_as_its_hint() -> None:
    failure = failure_of(ValueError(REFUSED))
    assert isinstance(failure, TracekitError)
    assert failure.message == f"The workload failed: ValueError: {REFUSED}"
    assert "at most 896," in failure.hint
    assert failure_of(ValueError("no")).hint == ""
