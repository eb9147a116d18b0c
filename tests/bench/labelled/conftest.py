"""What happens when the small program runs."""

from dataclasses import replace

import pytest

from labelled.facts import Facts
from labelled.program import simulate
from small_trace import SETUP, Make


@pytest.fixture
def made() -> Make:
    """Let the small program run, with the changes that are asked for."""
    return lambda **changes: Facts(simulate(replace(SETUP, **changes)))
