"""The workload `serve`: its parameters, and a schedule that is served to its end."""

from typing import Any

import pytest

from tracekit.base.errors import UsageError
from tracekit.base.tolerances import BOUNDS
from tracekit.workload.workload import Measured, find

SMALL = {
    "head_dim": 32, "q_heads": 2, "kv_heads": 1, "layers": 1, "dtype": "float32", "max_seqs": 2,
    "blocks": 12, "prompt_tokens": 12, "prompt_shortest": 4, "prompt_longest": 40,
    "output_tokens": 6, "output_shortest": 1, "output_longest": 20,
}  # fmt: skip


def test_a_schedule_is_served_to_its_end() -> None:
    step = find("serve").make({**SMALL, "requests": 5, "rate": 1000.0})
    assert 0 < step.results["max_error"] <= BOUNDS["float32"]
    assert step.results["schedule_length"] == Measured(5e6, "ns")
    for _ in range(3):
        step.wait(step.submit())
        assert step.tell().tokens == 0
    step.begin()
    requests = []
    for _ in range(10_000):
        if step.exhausted() or len(requests) == 5:
            break
        step.wait(step.submit())
        requests += step.tell().requests
    states = {request.number: request.state for request in requests}
    assert states == dict.fromkeys(range(5), "completed")
    assert set(step.finish()) >= {"arrival_lateness_p99", "arrivals_after_the_end"}
    assert step.leave().requests == []
    assert step.exhausted()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"rate": 0.0}, "--rate must be at least 0.001"),
        ({"prompt_shortest": 99}, "There are no lognormal lengths around 12"),
        ({"rate": 0.01, "duration": 1.0}, "no request arrives"),
        ({"q_heads": 3, "kv_heads": 2}, "cannot be shared out"),
        ({"spike_at": [1.0, 1.2]}, "overlap"),
        ({"blocks": 1, "block_size": 1}, "The pool of 1 blocks holds no request"),
    ],
)
def test_unservable_requests_are_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        find("serve").make({**SMALL, **values})
