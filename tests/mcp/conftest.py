"""A folder of small recordings, and a session that may read it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_folder import write_recordings
from tracekit.mcp.folders import Folders
from tracekit.mcp.session import Session


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recordings(tmp_path_factory.mktemp("mcp") / "mine")


@pytest.fixture
def session(recordings: Path) -> Iterator[Session]:
    with Session(Folders.of_paths([recordings])) as opened:
        yield opened
