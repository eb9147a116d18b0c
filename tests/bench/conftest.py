"""Small made exports, each with its truth, made once."""

from pathlib import Path

import pytest

from synthetic import KINDS, write


@pytest.fixture(scope="session")
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A made export of every kind, of some hundred kilobytes."""
    folder = tmp_path_factory.mktemp("exports")
    paths = {kind: folder / f"{kind}.xml" for kind in KINDS}
    for kind, path in paths.items():
        write(KINDS[kind], path, 0.3, 5)
    return paths
