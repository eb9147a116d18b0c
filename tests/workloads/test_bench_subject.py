"""The workload `bench-subject`: subjects of a bench as steps, sides of `bench ab` and nights."""

import mlx.core as mx
import pytest

from prepared_steps import prepare_step
from tracekit.base.errors import ToolError, UsageError

SMALL = {"batch": 2, "q_heads": 4, "kv_heads": 2, "head_dim": 64, "block_size": 8}


@pytest.mark.parametrize("subject", ["sdpa", "gather-sdpa", "naive"])
def test_bench_subject_does_the_work_of_its_subject(subject: str) -> None:
    step = prepare_step("bench-subject", subject=subject, active_blocks=2, **SMALL)
    assert step.tokens == 2
    step.wait(step.submit())
    assert 0 <= step.results["max_error"] < 0.01


def test_bench_subject_of_another_name_has_a_suggestion() -> None:
    with pytest.raises(UsageError, match="'spda'") as caught:
        prepare_step("bench-subject", subject="spda")
    assert caught.value.hint == "Did you mean sdpa?"


def test_bench_subject_names_the_reason_if_it_cannot_run_here() -> None:
    if mx.metal.is_available():
        pytest.skip("Metal runs every subject")
    with pytest.raises(ToolError, match="paged-barriers cannot run here: it is a Metal kernel"):
        prepare_step("bench-subject", subject="paged-barriers", **SMALL)
