"""What the facts come to for a script."""

import json

import msgspec
import pytest

from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.record.doctor.checks import Fact, failed, not_applicable, ok, unknown, warning
from tracekit.record.doctor.examine import Diagnosis

GOOD = ok("macOS 26.3.1 (25D2128)")
IDENTITY = Identity("25D2128", "17C529", "Apple M1")


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        pytest.param([GOOD], 0, id="ok"),
        pytest.param([GOOD, warning("b", "c"), not_applicable("e")], 0, id="warnings"),
        pytest.param([GOOD, unknown("no")], 0, id="unknown-and-not-needed"),
        pytest.param([GOOD, unknown("no", needed=True)], 4, id="open"),
        pytest.param([failed("b", "c"), unknown("e", needed=True)], 3, id="failed"),
    ],
)
def test_the_exit_code_says_what_stands_in_the_way(facts: list[Fact], code: int) -> None:
    diagnosis = Diagnosis(IDENTITY, tuple(facts))
    assert diagnosis.exit_code == code
    assert diagnosis.document()["exit_code"] == code


def test_the_document_is_stable() -> None:
    way = Combination("launch", counters=False, backend="metal", rows=150, dispatches=150)
    diagnosis = Diagnosis(
        IDENTITY,
        (failed("no", "do", name="xctrace"),),
        Capabilities(IDENTITY, "2026-11-20", (way,)),
    )
    assert json.loads(msgspec.json.encode(diagnosis.document())) == {
        "format": 1,
        "identity": {"system_build": "25D2128", "xcode_build": "17C529", "chip": "Apple M1"},
        "facts": [
            {"name": "xctrace", "verdict": "failed", "words": "no", "fix": "do", "needed": True}
        ],
        "capabilities": {
            "identity": {"system_build": "25D2128", "xcode_build": "17C529", "chip": "Apple M1"},
            "probed": "2026-11-20",
            "combinations": [
                {
                    "mode": "launch",
                    "counters": False,
                    "backend": "metal",
                    "rows": 150,
                    "others": None,
                    "dispatches": 150,
                    "counter_set": "",
                    "counter_rows": None,
                    "saving": None,
                    "failure": "",
                    "warnings": [],
                }
            ],
            "format": 1,
        },
        "exit_code": 3,
    }
