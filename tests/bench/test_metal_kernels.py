"""The run of every shipped kernel on Metal, here on the emulator, one case."""

import sys

import pytest

import metal_kernels
from small_kernels import EMULATED
from tracekit.lab.msl.emulation import emulation

pytestmark = EMULATED


def test_a_case_has_its_error_and_its_bound() -> None:
    with emulation():
        answer = metal_kernels.run_case(
            "rmsnorm-linear", {"dtype": "float32", "rows": 2, "dims": 64, "out_dims": 8}
        )
    assert 0 < answer["error"] < answer["bound"]


def test_a_case_that_fails_takes_only_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = {"dtype": "float32", "rows": 2, "dims": 64, "out_dims": 8}
    outcome = metal_kernels.ask_child("rmsnorm-linear", parameters)
    assert (outcome["outcome"], outcome["parameters"]) == ("failed", parameters)
    assert "Metal" in outcome["words"] or "gpu" in outcome["words"].lower()
    monkeypatch.setattr(sys, "argv", ["metal_kernels.py"])
    assert metal_kernels.main() == 3
