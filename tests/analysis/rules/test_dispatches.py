"""`unsound-dispatches`: launches that no kernel should have, from literal frames."""

from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.analysis.inject import NotApplicable, inject
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES
from tracekit.base import Provenance
from tracekit.tables import Severity

DISPATCH = {
    "index": 0, "function_index": 7, "command_buffer": 0, "encoder": 0, "function": "scale",
    "kernel": 0, "pipeline": 0, "call": "dispatchThreads:threadsPerThreadgroup:",
    "debug_group": None, "threads_x": 256, "threads_y": 1, "threads_z": 1, "group_x": 64,
    "group_y": 1, "group_z": 1, "groups_x": 4, "groups_y": 1, "groups_z": 1, "groups": 4,
    "partial_groups": 0, "threadgroup_memory": 0, "barriers": 0,
}  # fmt: skip
BINDING = {
    "dispatch": 0, "index": 0, "kind": "buffer", "name": "out", "type": "float",
    "access": "write", "active": True, "space": "device", "bound": True, "buffer": 0, "offset": 0,
    "length": 1024, "address": 4096, "alignment": 4, "data_size": 4, "value": None,
}  # fmt: skip
PIPELINE = {"index": 0, "instructions": 40, "registers": 12, "spilled": 0}


def judge(
    dispatches: list[dict[str, Any]],
    binding: dict[str, Any] | None = None,
    pipeline: dict[str, Any] | None = None,
) -> list[Finding]:
    tables = {
        "dispatches": pd.DataFrame(dispatches),
        "bindings": pd.DataFrame([{**BINDING, **(binding or {})}]),
        "pipelines": pd.DataFrame([{**PIPELINE, **(pipeline or {})}]),
    }
    return list(inject(RULES["unsound-dispatches"].judge, Given(tables, Provenance())))


def test_a_sound_dispatch_is_nothing_to_report() -> None:
    assert judge([DISPATCH]) == []


@pytest.mark.parametrize(
    ("changes", "binding", "pipeline", "lever", "severity"),
    [
        ({"group_x": 33}, {}, {}, "unsound-launch", Severity.WARNING),
        ({"groups": 0}, {}, {}, "unsound-launch", Severity.WARNING),
        ({}, {"bound": False}, {}, "wrong-bindings", Severity.ERROR),
        ({}, {"address": 4097}, {}, "wrong-bindings", Severity.ERROR),
        ({}, {"length": 3}, {}, "wrong-bindings", Severity.ERROR),
        ({}, {}, {"spilled": 16}, "spills", Severity.WARNING),
    ],
)
def test_a_fault_has_its_lever(
    changes: dict[str, Any],
    binding: dict[str, Any],
    pipeline: dict[str, Any],
    lever: str,
    severity: Severity,
) -> None:
    (finding,) = judge([{**DISPATCH, **changes}], binding, pipeline)
    assert (finding.lever, finding.severity) == (lever, severity)
    assert finding.fact("dispatches") == 1


def test_faults_of_one_kind_are_one_finding() -> None:
    odd = {**DISPATCH, "index": 1, "group_x": 33, "function": "odd"}
    (finding,) = judge([DISPATCH, odd, {**odd, "index": 2}])
    assert finding.fact("dispatches") == 2
    assert finding.fact("all_dispatches") == 3
    assert finding.fact("functions") == "odd"
    assert finding.fact("first") == 1


def test_a_recording_without_dispatches_is_not_asked() -> None:
    with pytest.raises(NotApplicable, match="only a GPU frame capture holds it"):
        inject(RULES["unsound-dispatches"].judge, Given({}, Provenance()))
