import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import InputError
from tracekit.workload.interleaved.protocol import (
    PROTOCOL,
    Answer,
    Calibrate,
    Calibrated,
    ChildRequest,
    Failed,
    Finish,
    Finished,
    Hello,
    Prepare,
    Ready,
    RunSteps,
    StepTimes,
    answer_of,
    line_of,
    request_of,
)
from tracekit.workload.workload import Measured

REQUESTS = [
    ChildRequest(prepare=Prepare("paged", Path("/own"), {"batch": 2, "kernel": None}, 7)),
    ChildRequest(steps=RunSteps(0.5, 9, 0.01)),
    ChildRequest(calibration=Calibrate("gpu", mlx=True)),
    ChildRequest(finish=Finish()),
]
ANSWERS = [
    Answer(hello=Hello(PROTOCOL, "0.1.0", "3.12.1", "0.30.0", 4711)),
    Answer(ready=Ready("metal", "0.30.0", {"memory_size": 1 << 40}, 16, 12, 345, ("late",))),
    Answer(steps=StepTimes((1, 2, 3), 4, 5, 6, ("a", "b"), ("kernel",), True)),
    Answer(calibration=Calibrated(123, 4)),
    Answer(finished=Finished({"error": Measured(None, "ratio", "lower", "nobody looked")})),
    Answer(failed=Failed("it broke", "fix it", 2)),
]


@pytest.mark.parametrize(
    ("said", "read"),
    [*((one, request_of) for one in REQUESTS), *((one, answer_of) for one in ANSWERS)],
)
def test_what_is_said_comes_across(said: Any, read: Callable[[bytes], object]) -> None:
    line = line_of(said)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert len(json.loads(line)) == 1
    assert read(line) == said


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"{", b"[]", b"{}", b'{"dance":{}}', b'{"turn":{}}', b'{"turn":{"seconds":"x"}}'),
        b'{"finish":{},"calibration":{}}',
        b'{"turn":null}',
        b"\xff",
    ],
)
def test_what_is_no_request_is_refused(line: bytes) -> None:
    with pytest.raises(InputError, match="What was asked is"):
        request_of(line)


@pytest.mark.parametrize("line", [b"", b"hello", b'{"steps":{"times":["x"]}}', b'{"hello":{}}'])
def test_what_is_no_answer_is_refused(line: bytes) -> None:
    with pytest.raises(InputError, match="What was answered is no answer"):
        answer_of(line)
