"""What xctrace and the launched program see of our environment."""

import pytest

from tracekit.record.xctrace.command import (
    distorts,
    own_environment,
    target_environment,
)

OURS = {
    "HOME": "/Users/a",
    "PATH": "/bin",
    "TMPDIR": "",
    "MLX_METAL_JIT": "1",
    "PYTHONPATH": "/lib",
    "AWS_SECRET": "no",
    "MTL_DEBUG_LAYER": "1",
    "LANG": "fr_FR",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MTL_CAPTURE_ENABLED", True),
        ("MTL_SHADER_VALIDATION", True),
        ("MTLCAPTURE_X", True),
        ("METAL_DEVICE_WRAPPER_TYPE", True),
        ("METAL_PATH", False),
        ("PATH", False),
    ],
)
def test_which_variables_distort_metal(name: str, expected: bool) -> None:
    assert distorts(name) is expected


def test_the_target_gets_what_it_needs_and_what_was_asked_for() -> None:
    asked = {"KEY": "a=b", "EMPTY": "", "MTL_HUD_ENABLED": "1", "PATH": "/own"}
    assert target_environment(asked, OURS) == {
        "HOME": "/Users/a",
        "KEY": "a=b",
        "MLX_METAL_JIT": "1",
        "PATH": "/own",
        "PYTHONPATH": "/lib",
    }


def test_a_program_that_we_start_ourselves_has_all_but_what_distorts() -> None:
    asked = {"KEY": "1", "MTL_HUD_ENABLED": "1", "LANG": "de_DE"}
    assert own_environment(asked, OURS) == {
        "HOME": "/Users/a",
        "PATH": "/bin",
        "TMPDIR": "",
        "MLX_METAL_JIT": "1",
        "PYTHONPATH": "/lib",
        "AWS_SECRET": "no",
        "LANG": "de_DE",
        "KEY": "1",
    }
