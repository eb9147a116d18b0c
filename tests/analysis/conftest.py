"""Literal tables for analyses."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

Rows = list[dict[str, Any]]
Make = Callable[..., pd.DataFrame]

_INTERVAL = {
    "start": "int64",
    "duration": "Int64",
    "channel": "string",
    "label": "string",
    "process": "string",
    "pid": "Int64",
    "target": "bool",
    "start_latency": "Int64",
    "clock": "string",
}


@pytest.fixture
def intervals() -> Make:
    """Make `gpu_intervals` of (start, duration) pairs of the target, and of other processes."""

    def make(
        own: list[tuple[int, int]],
        others: list[tuple[int, int]] | None = None,
        *,
        clock: str = "gpu",
        latencies: list[int | None] | None = None,
    ) -> pd.DataFrame:
        late = latencies or [1_000] * len(own)
        rows = [
            (start, length, "Compute", "paged", "python3", 4711, True, latency, clock)
            for (start, length), latency in zip(own, late, strict=True)
        ]
        rows += [
            (start, length, "Fragment", "frame", "WindowServer", 420, False, 2_000, clock)
            for start, length in others or []
        ]
        return pd.DataFrame(rows, columns=list(_INTERVAL)).astype(_INTERVAL)

    return make


@pytest.fixture
def targets() -> pd.DataFrame:
    """The target as the analysis knows it: python3, 4711."""
    return pd.DataFrame(
        {"pid": pd.array([4711], dtype="Int64"), "name": pd.array(["python3"], dtype="string")}
    )


@pytest.fixture
def nobody(targets: pd.DataFrame) -> pd.DataFrame:
    """No known target."""
    return targets.iloc[:0]


@pytest.fixture
def phases() -> Make:
    """Make `phases` with a steady phase from `start`, `duration` long, after a warm-up."""

    def make(start: int, duration: int) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "start": [0, start],
                "duration": pd.array([start, duration], dtype="Int64"),
                "name": pd.array(["warm-up", "steady"], dtype="string"),
                "clock": pd.array(["host", "host"], dtype="string"),
            }
        )

    return make
