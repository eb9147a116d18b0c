"""What the chip allows a step, and what was reached of it."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.machine import chip_of
from tracekit.base.recording import Provenance

Make = Callable[..., pd.DataFrame]


def machine(chip: str | None = "Apple M1 Max", cores: int | None = 32) -> dict[str, Any]:
    facts = {"system": "Darwin", "chip": chip, "gpu_cores": cores}
    return {name: fact for name, fact in facts.items() if fact is not None}


def model(**changes: Any) -> pd.DataFrame:
    """16 sequences of 1024 tokens, 16 q and 8 kv heads of 128 halves."""
    row = {
        "backend": "metal",
        "bytes_read": 134_217_728,
        "bytes_unique": 67_174_464,
        "bytes_written": 65_536,
        "flops": 134_217_728,
    }
    return pd.DataFrame([{**row, **changes}])


def steps(*rows: tuple[int, int, str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["start", "duration", "phase"])
    return frame.astype({"duration": "Int64", "phase": "string"})


STEADY = steps(
    (0, 9_000_000, "warm-up"),
    (10_000_000, 200_000, "steady"),
    (11_000_000, 210_000, "steady"),
    (12_000_000, 220_000, "steady"),
)
GIVEN: dict[str, Any] = {"steps": STEADY, "step_models": model(), "machine": machine()}


@pytest.fixture
def measure(measured: Any) -> Callable[..., float]:
    def share(name: str, **tables: Any) -> float:
        known = {**GIVEN, **tables}
        return measured(name, provenance=Provenance(machine=known.pop("machine")), **known)

    return share


def test_the_intensity_is_operations_for_each_byte_of_memory(measure: Any) -> None:
    assert measure("step_intensity") == pytest.approx(134_217_728 / 67_240_000)


def test_the_bound_of_a_memory_bound_step_is_its_bytes_over_the_bandwidth(measure: Any) -> None:
    assert measure("step_bound") == pytest.approx(168_100)


def test_the_bound_of_dense_arithmetic_is_its_operations_over_the_rate(measure: Any) -> None:
    assert measure("step_bound", step_models=model(flops=10_620_000_000_000)) == pytest.approx(1e9)


def test_where_the_rate_is_not_known_memory_alone_is_the_bound(measure: Any) -> None:
    tables = {"step_models": model(flops=10**15), "machine": machine("Apple M3 Max", 40)}
    assert measure("step_bound", **tables) == pytest.approx(168_100)


def test_a_step_without_operations_has_a_bound_but_no_intensity(measure: Any) -> None:
    copied = model(flops=0)
    assert measure("step_bound", step_models=copied) == pytest.approx(168_100)
    with pytest.raises(Unavailable, match="how many operations a step takes"):
        measure("step_intensity", step_models=copied)


def test_the_share_is_that_of_the_median_step(measure: Any) -> None:
    assert measure("bandwidth_share") == pytest.approx(168_100 / 210_000)


def test_faster_than_memory_is_cache_resident_and_no_share(measure: Any) -> None:
    quick = steps((0, 50_000, "steady"))
    with pytest.raises(Unavailable, match=r"cache-resident: 1,345 GB/s is more than the 400 GB/s"):
        measure("bandwidth_share", steps=quick)


def test_the_share_while_the_gpu_ran_leaves_waiting_out(intervals: Make, measure: Any) -> None:
    ran = [
        (5_000_000, 900_000),
        (10_000_000, 180_000),
        (11_000_000, 180_000),
        (12_000_000, 180_000),
    ]
    tables = {"gpu_intervals": intervals(ran)}
    assert measure("bandwidth_share_busy", **tables) == pytest.approx(168_100 / 180_000)


@pytest.mark.parametrize("name", ["step_bound", "bandwidth_share"])
@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ({"machine": machine(None, None)}, "does not say which chip it was made on"),
        ({"machine": machine("Apple M3 Max", None)}, "how many this one has is not known"),
        ({"machine": machine("Apple M5 Ultra", 80)}, "contradict each other"),
        ({"step_models": model(backend="cpu")}, "what bandwidth a CPU reaches nobody publishes"),
        ({"step_models": model().iloc[:0]}, "does not say what a step does"),
        ({"step_models": pd.concat([model(), model()])}, "steps are of several variants"),
        ({"step_models": model(bytes_unique=0, bytes_written=0)}, "how many bytes a step moves"),
    ],
)
def test_what_cannot_be_known_says_why(
    name: str, tables: dict[str, Any], reason: str, measure: Any
) -> None:
    with pytest.raises(Unavailable, match=reason):
        measure(name, **tables)


def test_a_run_that_never_became_steady_has_no_share(measure: Any) -> None:
    with pytest.raises(Unavailable, match="no step in its steady phase"):
        measure("bandwidth_share", steps=STEADY[STEADY["phase"] == "warm-up"])


def test_the_machine_of_a_recording_is_a_chip() -> None:
    found = chip_of(machine("Apple M4 Max", 40))
    assert (found.name, found.cores, found.bandwidth.value) == ("Apple M4 Max", 40, 546e9)
    assert chip_of(machine("Apple M4", None)).cores is None
