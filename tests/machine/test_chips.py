"""What a chip can do: its figures, the roofs over a kernel, and the bandwidth that is measured."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from tracekit.machine.chips import (
    BufferLimits,
    Confidence,
    chip,
    gpu_class,
    is_virtual_device,
    known_chips,
    normalize_chip_name,
    this_chip,
)
from tracekit.machine.roofline import (
    Bound,
    Limit,
    Reached,
    bound,
    compute_reached,
    intensity,
    ridge_of,
)
from tracekit.machine.triad import Bandwidth, last_cache, measure_bandwidth, triad

INDEPENDENT, LOW = Confidence.INDEPENDENT, Confidence.LOW


BANDWIDTHS: dict[tuple[str, int | None], float | str] = {
    ("Apple M1", 8): 68.25,
    ("Apple M1", None): 68.25,
    ("Apple M2 Ultra", 60): 800,
    ("Apple M3 Max", 30): 300,
    ("Apple M3 Max", 40): 400,
    ("Apple M4 Max", 32): 410,
    ("Apple M4 Max", 40): 546,
    ("Apple M5", None): 153,
    ("Apple M5 Max", 40): 614,
    ("Apple M3 Max", None): "how many this one has is not known",
    ("Apple M3 Max", 35): "of one with 35 nothing is known",
    ("Apple M5 Ultra", 10): "contradict each other",
    ("Apple M1 (Virtual)", 10): "no figures of a chip called",
    ("AMD EPYC", 10): "no figures of a chip called 'AMD EPYC'",
    ("", 10): "not known which chip",
}


def test_bandwidth_goes_by_name_and_cores_or_has_its_reason() -> None:
    for (name, cores), number_or_reason in BANDWIDTHS.items():
        figure = chip(name, cores).bandwidth
        if isinstance(number_or_reason, str):
            assert (figure.value, figure.confidence) == (None, None), (name, cores)
            assert number_or_reason in figure.reason, (name, cores)
        else:
            expected = (number_or_reason * 1e9, Confidence.PUBLISHED)
            assert (figure.value, figure.confidence) == expected, (name, cores)


ARITHMETIC: dict[tuple[str, int | None], tuple[float | str, Confidence | None]] = {
    ("Apple M1 Max", 32): (10.62, INDEPENDENT),
    ("Apple M1 Max", 24): (10.62 * 24 / 32, INDEPENDENT),
    ("Apple M2 Max", 38): (13.6, INDEPENDENT),
    ("Apple M3 Max", 40): (14.3, LOW),  # readings of third parties
    ("Apple M4", 10): (3.8, LOW),
    ("Apple M4 Max", 40): (13.7 * 40 / 32, LOW),
    ("Apple M4 Pro", 20): ("no source states the clock", None),
    ("Apple M1", None): ("depends on the number of GPU cores", None),
    ("Apple M1", 12): ("at most 8 GPU cores; this one says 12", None),
    ("Apple M1", 0): ("at most 8 GPU cores; this one says 0", None),
}


def test_arithmetic_scales_with_the_cores_and_says_so() -> None:
    for (name, cores), (number_or_reason, confidence) in ARITHMETIC.items():
        figure = chip(name, cores).fp32
        assert figure.confidence is confidence, (name, cores)
        if isinstance(number_or_reason, str):
            assert figure.value is None, (name, cores)
            assert number_or_reason in figure.reason, (name, cores)
        else:
            assert figure.value == pytest.approx(number_or_reason * 1e12), (name, cores)
            scaled = name in {"Apple M1 Max", "Apple M4 Max"} and cores != 32
            is_scaling_told = "scaled from the one with 32 cores" in figure.source
            assert is_scaling_told is scaled, (name, cores)


def test_halves_are_as_fast_as_floats_only_with_a_source() -> None:
    first_chip, second, later = chip("Apple M1", 8), chip("Apple M2 Pro"), chip("Apple M3 Max", 40)
    assert first_chip.fp16.value == first_chip.fp32.value == 2.62e12
    assert second.fp16.reason == second.fp32.reason != ""
    assert later.fp16.value is None
    assert "no source states" in later.fp16.reason


def test_every_chip_has_a_bandwidth_for_some_number_of_cores() -> None:
    names = known_chips()
    assert (len(names), "Apple M5 Ultra" in names) == (18, False)
    for name in names:
        assert any(chip(name, cores).bandwidth.value for cores in range(1, 81)), name
    assert normalize_chip_name("m4  MAX") == normalize_chip_name("apple m4 max") == "Apple M4 Max"
    assert normalize_chip_name("m9") == "m9"


def test_the_last_letter_of_an_architecture_is_its_class_and_says_when_mlx_commits() -> None:
    gpu_classes = [gpu_class(f"applegpu_g15{letter}") for letter in "pgsd"]
    limits = [BufferLimits(20, 40), BufferLimits(40, 40), *[BufferLimits(50, 50)] * 2]
    assert gpu_classes == list(zip(("phone", "base or Pro", "Max", "Ultra"), limits, strict=True))
    assert not any(map(gpu_class, ("x86_64", "amd_s", "applegpu_g15x", "")))


@pytest.mark.skipif(sys.platform == "darwin", reason="the figures of a Mac are there")
def test_this_machine_has_no_figures_of_apples() -> None:
    epyc = {"chip": "AMD EPYC", "gpu_cores": 8}
    for facts, reason in (({}, "not name its chip."), (epyc, "is not an Apple chip.")):
        own_chip = this_chip(facts)
        assert (own_chip.cores, own_chip.bandwidth.value) == (None, None), reason
        assert own_chip.bandwidth.reason.endswith(reason)


def test_a_virtual_mac_has_no_figures_of_its_chip() -> None:
    virtual_chip = this_chip({"chip": "Apple M1", "gpu_cores": 8, "virtual": True})
    figures = (virtual_chip.bandwidth, virtual_chip.fp32, virtual_chip.fp16)
    assert {figure.value for figure in figures} == {None}
    assert "is a virtual machine" in virtual_chip.bandwidth.reason


def test_names_of_virtual_devices_are_recognized() -> None:
    names = {
        "Apple M1 (Virtual)": True,
        "Apple Paravirtual device": True,
        "VirtualMac2,1": True,
        "Apple M4 Max": False,
        "": False,
    }
    assert {name: is_virtual_device(name) for name in names} == names


def test_the_higher_roof_is_the_bound() -> None:
    for flops, moved, bandwidth, rate, expected in (
        # 16 sequences of 1024 tokens, 8 kv heads of 128 halves: 67.24 MB, 0.134 GFLOP
        (0.134e9, 67.24e6, 400e9, 2.62e12, Bound(168.1e-6, Limit.MEMORY)),
        (4e12, 1e9, 400e9, 10e12, Bound(0.4, Limit.ARITHMETIC)),
        (4e12, 1e9, 400e9, None, Bound(1 / 400, Limit.MEMORY, partial=True)),
        (4e12, 1e9, None, 10e12, Bound(0.4, Limit.ARITHMETIC, partial=True)),
    ):
        time_bound = bound(flops, moved, bandwidth=bandwidth, rate=rate)
        assert time_bound.seconds == pytest.approx(expected.seconds), (
            flops,
            moved,
            bandwidth,
            rate,
        )
        assert (time_bound.limit, time_bound.partial) == (expected.limit, expected.partial)


def test_the_ridge_of_a_chip_needs_both_of_its_roofs() -> None:
    first_ridge, fourth = ridge_of(chip("Apple M1", 8)), ridge_of(chip("Apple M4", 10))
    assert first_ridge.value == pytest.approx(2.62e12 / 68.25e9)
    assert fourth.value == pytest.approx(3.8e12 / 120e9)
    # as sure as its clock
    assert (first_ridge.confidence, fourth.confidence) == (Confidence.INDEPENDENT, Confidence.LOW)
    for name, cores, reason in (
        ("Apple M4 Max", None, "how many this one has is not known"),
        ("Apple M4 Pro", 20, "no source states the clock"),
    ):
        ridge = ridge_of(chip(name, cores))
        assert (ridge.value, ridge.confidence) == (None, None), name
        assert reason in ridge.reason


def test_a_bandwidth_above_the_memorys_came_from_caches() -> None:
    assert compute_reached(320e9, 1, bandwidth=400e9) == Reached(320e9, 0.8)
    assert compute_reached(400e9, 1, bandwidth=400e9) == Reached(400e9, 1.0)
    assert compute_reached(400.1e9, 1, bandwidth=400e9) == Reached(400.1e9, None, cached=True)
    assert compute_reached(100, 2, bandwidth=None) == Reached(50, None)
    assert intensity(200, 100) == 2.0


def test_the_triad_is_a_scaled_sum_of_any_length() -> None:
    random = np.random.default_rng(1)
    for length in (1, 8191, 8192, 20_001):
        added, scaled = random.random(length), random.random(length)
        result = np.zeros(length)
        triad(result, added, scaled)
        np.testing.assert_array_equal(result, added + 3.0 * scaled)


def test_bandwidth_is_measured_over_passes_by_threads() -> None:
    bandwidth = measure_bandwidth(6 << 20, passes=3, threads=2)
    assert bandwidth.best >= bandwidth.median > 0
    assert (bandwidth.passes, bandwidth.threads) == (3, 2)
    assert abs(bandwidth.size - (6 << 20)) < 24


def test_arrays_that_a_cache_could_hold_say_nothing_of_memory() -> None:
    sizes = ((400, 100), (399, 100), (400, None))
    memory_flags = [Bandwidth(1, 1, size, 1, 1, cache).of_memory for size, cache in sizes]
    assert memory_flags == [True, False, None]


def test_the_largest_cache_counts(tmp_path: Path) -> None:
    for index, text in enumerate(("48K\n", "1024K\n", "32M\n")):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        (folder / "size").write_text(text)
    assert last_cache(tmp_path) == 32 << 20
    assert last_cache(tmp_path / "nowhere") is None
    shutil.rmtree(tmp_path / "index2")
    shutil.rmtree(tmp_path / "index1")
    for text in ("much\n", "32768\n", "8\n"):
        (tmp_path / "index0" / "size").write_text(text)
        assert last_cache(tmp_path) is None, text
