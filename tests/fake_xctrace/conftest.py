"""The fake on PATH, with a scenario of the test's own."""

import subprocess
from collections.abc import Callable

import pytest

Scenario = Callable[..., None]
Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def call(scenario: Scenario) -> Call:
    """Run a command line to its end, within 20 seconds."""

    def run(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv, input=stdin, capture_output=True, text=True, timeout=20, check=False
        )

    return run
