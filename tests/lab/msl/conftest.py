"""Emulated kernels, and the compilers that they need."""

import pytest

from tracekit.lab.msl.compiler import usable_compilers


@pytest.fixture
def clang() -> None:
    """Skip a test without a clang++."""
    if not any(compiler.kind != "g++" for compiler in usable_compilers()):
        pytest.skip("no clang++ on PATH")
