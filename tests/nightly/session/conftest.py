"""Captures of naps, and the processes that tests start."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from children import running, started_since
from naps import prepared_in
from tracekit.nightly.session.program import Bounds
from tracekit.record.supervisor import Supervisor


@pytest.fixture
def ready(tmp_path: Path) -> Callable[..., Any]:
    """Prepare a capture of naps, for a with statement; nothing is started."""
    return lambda **values: prepared_in(tmp_path, **values)


@pytest.fixture
def bounds(tmp_path: Path) -> Iterator[Bounds]:
    with Supervisor(tmp_path) as supervisor:
        yield Bounds(supervisor)


@pytest.fixture(autouse=True)
def children() -> Iterator[Callable[[], list[psutil.Process]]]:
    """Return the processes that this one started since; none may be left after the test."""
    initial_processes = running()
    yield lambda: started_since(initial_processes)
    leftovers = started_since(initial_processes)
    assert not leftovers, f"left behind: {[process.cmdline() for process in leftovers]}"
