"""What all tests share: the corpus of real exports, golden files."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2] / "shared" / "corpus"
CORPUS = Path(os.environ.get("TRACEKIT_CORPUS", _BESIDE))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens", action="store_true", help="write golden files instead of comparing"
    )


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real exports; tests that need it are skipped by name without it."""
    if not CORPUS.is_dir():
        pytest.skip(f"no corpus of real exports at {CORPUS}; TRACEKIT_CORPUS names another place")
    return CORPUS
