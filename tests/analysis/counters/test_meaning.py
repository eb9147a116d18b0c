"""What counters mean is looked up by name, for both sets that are known."""

import pytest

from tracekit.analysis.counters import Group, Kind, Meaning, meaning

# Names that only one of the two sets has, and some of both.
M3 = (
    "Kernel Occupancy, Total Occupancy, Occupancy Manager Target, L1 Eviction Rate, "
    "Compute Shader Launch Limiter, ALU Limiter, ALU Utilization, F32 Limiter, F32 Utilization, "
    "F16 Limiter, Integer and Conditional Limiter, Control Flow Utilization, "
    "Instruction Throughput Limiter, Integer and Complex Utilization, L1 Cache Limiter, "
    "Texture Read Limiter, Texture Read Cache Utilization, Texture Write Limiter, GPU Bandwidth, "
    "GPU Read Bandwidth, GPU Write Bandwidth, MMU Limiter, Last Level Cache Limiter, "
    "Last Level Cache Utilization, Buffer L1 Miss Rate, VS Occupancy, FS Occupancy"
).split(", ")
M1 = (
    "ALU Limiter, Buffer Load Utilization, Buffer Read Limiter, Buffer Store Utilization, "
    "Buffer Write Limiter, Compute Occupancy, F16 Utilization, Fragment Interp Limiter, "
    "Fragment Occupancy, GPU Read Bandwidth, LLC Limiter, LLC Utilization, MMU Utilization, "
    "TG/IB Load Limiter, TG/IB Store Utilization, Texture Cache Limiter, "
    "Texture Filtering Limiter, Texture Sample Limiter, Texture Write Utilization, "
    "Total Occupancy, Vertex Occupancy"
).split(", ")


@pytest.mark.parametrize("name", [*M3, *M1])
def test_counters_of_both_sets_mean_something(name: str) -> None:
    known = meaning(name)
    assert known is not None
    assert (known.kind is Kind.LIMITER) is name.endswith("Limiter")
    assert (known.kind is Kind.UTILIZATION) is name.endswith("Utilization")
    assert (known.kind is Kind.BANDWIDTH) is name.endswith("Bandwidth")


@pytest.mark.parametrize(
    "name", ["RT Unit Active", "Top Performance Limiter", "Partial Renders", "", "Limiter"]
)
def test_what_is_no_load_of_a_unit_means_nothing(name: str) -> None:
    assert meaning(name) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Kernel Occupancy", "Compute Occupancy"),
        ("Last Level Cache Limiter", "GPU Last Level Cache Limiter"),
        ("LLC Utilization", "Last Level Cache Utilization"),
        ("TG/IB Load Limiter", "Threadgroup/Imageblock Load Limiter"),
        ("ALU Limiter", "  alu  limiter "),
    ],
)
def test_names_of_one_thing_mean_the_same(one: str, other: str) -> None:
    assert meaning(one) == meaning(other) is not None


def test_a_meaning_has_kind_group_and_unit() -> None:
    assert meaning("F16 Limiter") == Meaning(Kind.LIMITER, Group.ARITHMETIC, "F16")
    assert meaning("GPU Read Bandwidth") == Meaning(Kind.BANDWIDTH, Group.MEMORY, "read")


def test_every_group_has_a_counter() -> None:
    assert {found.group for name in [*M1, *M3] if (found := meaning(name))} == set(Group)
