"""The workload `serve`, from its parameters to numbers that agree with its raw events."""

import json
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from tracekit.base.errors import UsageError
from tracekit.base.tolerances import BOUNDS
from tracekit.workload.workload import Measured, find

SMALL = {
    "head_dim": 32, "q_heads": 2, "kv_heads": 1, "layers": 1, "dtype": "float32", "max_seqs": 2,
    "blocks": 12, "prompt_tokens": 12, "prompt_shortest": 4, "prompt_longest": 40,
    "output_tokens": 6, "output_shortest": 1, "output_longest": 20,
}  # fmt: skip


def options(values: dict[str, Any]) -> list[str]:
    named = ((f"--{name.replace('_', '-')}", str(value)) for name, value in values.items())
    return [part for pair in named for part in pair]


def test_a_schedule_is_served_to_its_end() -> None:
    step = find("serve").make({**SMALL, "requests": 5, "rate": 1000.0})
    for _ in range(3):
        step.wait(step.submit())
        assert step.tell().tokens == 0
    step.begin()
    requests = []
    for _ in range(10_000):
        if step.exhausted():
            break
        step.wait(step.submit())
        requests += step.tell().requests
    assert sorted(request.number for request in requests) == [0, 1, 2, 3, 4]
    assert {request.state for request in requests} == {"completed"}
    assert set(step.finish()) >= {"arrival_lateness_p99", "arrivals_after_the_end"}
    assert step.leave().requests == []
    assert step.exhausted()


def test_what_is_known_beforehand_is_a_result() -> None:
    step = find("serve").make({**SMALL, "rate": 50.0, "duration": 2.0})
    results = step.results
    assert 0 < results["max_error"] <= BOUNDS["float32"]
    assert results["scheduled_requests"] == Measured(100, "count")
    assert results["schedule_length"] == Measured(2e9, "ns")
    assert results["offered_load"].value > 0


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
def test_what_cannot_be_served_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        find("serve").make({**SMALL, **values})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recording with everything in it: completions, rejections, limits, more than one token."""
    made = tmp_path / "run"
    chosen = options({**SMALL, "rate": 120, "duration": 0.6, "blocks": 3, "seed": 2})
    limits = options({"slo_ttft": 40, "slo_tpot": 4, "slow_tick": 2})
    arguments = ["--recorder", "host", "--warmup", "2", "--time-limit", "20s"]
    workload = ["capture", "--workload", "serve", "--output", str(made)]
    assert run(*workload, *arguments, *chosen, *limits) == 0
    return made


def percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    rank = (len(ordered) - 1) * (percent / 100)
    below, share = math.floor(rank), rank - math.floor(rank)
    low, high = ordered[below], ordered[math.ceil(rank)]
    apart = high - low
    return low + apart * share if share < 0.5 else high - apart * (1 - share)


def statistics(name: str, values: list[float]) -> Iterator[tuple[str, float]]:
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values)
    yield f"{name}_mean", mean
    yield f"{name}_std", math.sqrt(spread / len(values))
    for percent in (50, 95, 99):
        yield f"{name}_p{percent}", percentile(values, percent)


def latencies(requests: list[dict[str, Any]]) -> dict[str, list[float]]:
    done = [one for one in requests if one["state"] == "completed"]
    several = [one for one in done if len(one["tokens"]) > 1]
    return {
        "ttft": [one["tokens"][0] - one["scheduled"] for one in requests if one["tokens"]],
        "tpot": [
            (one["tokens"][-1] - one["tokens"][0]) / (len(one["tokens"]) - 1) for one in several
        ],
        "itl": [after - before for one in requests for before, after in pairwise(one["tokens"])],
        "e2e": [one["tokens"][-1] - one["scheduled"] for one in done],
    }


@pytest.mark.processes
def test_latencies_agree_with_a_plain_recomputation(folder: Path) -> None:
    events = json.loads((folder / "workload.json").read_text())
    result = json.loads((folder / "result.json").read_text())
    metrics = {metric["name"]: metric["value"] for metric in result["metrics"]}
    states = [request["state"] for request in events["requests"]]
    assert (len(states), events["state"]) == (72, "done")
    assert {"completed", "rejected"} <= set(states)
    assert any(len(request["tokens"]) > 3 for request in events["requests"])
    for name, values in latencies(events["requests"]).items():
        for metric, expected in statistics(name, values):
            assert metrics[metric] == expected, metric
    page = (folder / "report.html").read_text()
    assert '<section id="requests"' in page
    assert "72 requests were to arrive in the run" in page
    assert "the pool has 3" in page
