"""A run on a known chip, from tables to a result."""

import pandas as pd

from tracekit.analysis.analyze import analyze
from tracekit.base.recording import Process, Provenance

MAC = {"system": "Darwin", "chip": "Apple M1 Max", "gpu_cores": 32, "memory": 64 << 30}
MS = 1_000_000


def tables() -> dict[str, pd.DataFrame]:
    starts = [10 * MS, 20 * MS, 30 * MS]
    steps = pd.DataFrame(
        {
            "start": starts,
            "duration": pd.array([200_000] * 3, dtype="Int64"),
            "phase": pd.array(["steady"] * 3, dtype="string"),
            "tokens": pd.array([16] * 3, dtype="Int64"),
            "variant": pd.array([None] * 3, dtype="string"),
        }
    )
    model = pd.DataFrame(
        {
            "backend": ["metal"],
            "bytes_read": [134_000_000],
            "bytes_unique": [67_000_000],
            "bytes_written": [200_000],
            "flops": [134_400_000],
            "variant": [None],
        }
    )
    gauges = pd.DataFrame(
        {
            "time": [12 * MS, 25 * MS, 99 * MS],
            "name": pd.array(["gpu_clock"] * 3, dtype="string"),
            "value": [1.296e9, 1.2e9, 0.4e9],
            "source": pd.array(["macmon"] * 3, dtype="string"),
        }
    )
    phases = pd.DataFrame(
        {
            "start": [10 * MS],
            "duration": pd.array([21 * MS], dtype="Int64"),
            "name": pd.array(["steady"], dtype="string"),
        }
    )
    return {"steps": steps, "step_models": model, "gauges": gauges, "phases": phases}


def values(provenance: Provenance) -> dict[str, float | None]:
    return {one.name: one.value for one in analyze(tables(), provenance).metrics}


def test_a_result_tells_the_share_of_its_machines_bandwidth() -> None:
    found = values(Provenance(machine=MAC, targets=(Process(4711, "python3"),)))
    assert found["step_bound"] == 168_000
    assert found["bandwidth_share"] == 0.84
    assert found["step_intensity"] == 2.0
    assert found["bandwidth_share_busy"] is None
    assert (found["gpu_clock_p50"], found["gpu_clock_min"]) == (1.248e9, 1.2e9)


def test_a_result_without_a_machine_has_an_intensity_alone() -> None:
    found = values(Provenance())
    assert found["step_intensity"] == 2.0
    assert found["step_bound"] is None
    assert found["bandwidth_share"] is None
