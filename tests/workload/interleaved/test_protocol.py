import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_request_comes_across(request_: ChildRequest) -> None:
    line = line_of(request_)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert len(json.loads(line)) == 1
    assert request_of(line) == request_


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_comes_across(answer: Answer) -> None:
    line = line_of(answer)
    assert len(json.loads(line)) == 1
    assert answer_of(line) == answer


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers(-(2**53), 2**53)))
def test_any_parameter_comes_across(parameters: dict[str, object]) -> None:
    request = ChildRequest(prepare=Prepare("x", parameters=parameters))
    assert request_of(line_of(request)) == request


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
