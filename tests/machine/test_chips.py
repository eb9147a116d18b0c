import math
import sys

import pytest

from tracekit.machine.chips import (
    BufferLimits,
    Confidence,
    chip,
    gpu_class,
    known_chips,
    this_chip,
)


@pytest.mark.parametrize(
    ("name", "cores", "gigabytes"),
    [
        ("Apple M1", 8, 68.25),
        ("Apple M1", 7, 68.25),
        ("Apple M1", None, 68.25),
        ("Apple M2 Ultra", 60, 800),
        ("Apple M3 Max", 30, 300),
        ("Apple M3 Max", 40, 400),
        ("Apple M4 Max", 32, 410),
        ("Apple M4 Max", 40, 546),
        ("Apple M5", None, 153),
        ("Apple M5 Max", 40, 614),
    ],
)
def test_bandwidth_goes_by_name_and_cores(name: str, cores: int | None, gigabytes: float) -> None:
    found = chip(name, cores).bandwidth
    assert found.value == gigabytes * 1e9
    assert found.confidence is Confidence.PUBLISHED
    assert not found.reason


@pytest.mark.parametrize(
    ("name", "cores", "reason"),
    [
        ("Apple M3 Max", None, "how many this one has is not known"),
        ("Apple M3 Max", 35, "of one with 35 nothing is known"),
        ("Apple M5 Ultra", 10, "contradict each other"),
        ("Apple M1 (Virtual)", 10, "no figures of a chip called"),
        ("AMD EPYC", 10, "no figures of a chip called 'AMD EPYC'"),
        ("", 10, "not known which chip"),
    ],
)
def test_a_bandwidth_that_is_not_known_has_its_reason(
    name: str, cores: int | None, reason: str
) -> None:
    found = chip(name, cores).bandwidth
    assert (found.value, found.confidence) == (None, None)
    assert reason in found.reason


def test_arithmetic_scales_with_the_cores_and_says_so() -> None:
    whole, part = chip("Apple M1 Max", 32).fp32, chip("Apple M1 Max", 24).fp32
    assert whole.value == 10.62e12
    assert "scaled" not in whole.source
    assert part.value is not None
    assert math.isclose(part.value, 10.62e12 * 24 / 32)
    assert "scaled from the one with 32 cores" in part.source
    larger = chip("Apple M4 Max", 40).fp32
    assert larger.value is not None
    assert math.isclose(larger.value, 13.7e12 * 40 / 32)


def test_readings_of_third_parties_are_marked_low() -> None:
    assert chip("Apple M2 Max", 38).fp32.confidence is Confidence.INDEPENDENT
    assert chip("Apple M4", 10).fp32.confidence is Confidence.LOW


@pytest.mark.parametrize(
    ("name", "cores", "reason"),
    [
        ("Apple M4 Pro", 20, "no source states the clock"),
        ("Apple M1", None, "depends on the number of GPU cores"),
        ("Apple M1", 12, "at most 8 GPU cores; this one says 12"),
    ],
)
def test_arithmetic_that_cannot_be_known_says_why(
    name: str, cores: int | None, reason: str
) -> None:
    found = chip(name, cores).fp32
    assert found.value is None
    assert reason in found.reason


def test_halves_are_as_fast_as_floats_only_where_a_source_says_so() -> None:
    first = chip("Apple M1", 8)
    assert first.fp16.value == first.fp32.value
    assert chip("Apple M2 Pro").fp16.reason == chip("Apple M2 Pro").fp32.reason
    later = chip("Apple M3 Max", 40)
    assert later.fp32.value == 14.3e12
    assert later.fp16.value is None
    assert "no source states" in later.fp16.reason


def test_every_chip_has_a_bandwidth_for_some_number_of_cores() -> None:
    names = known_chips()
    assert len(names) == 18
    assert "Apple M5 Ultra" not in names
    for name in names:
        found = [chip(name, cores).bandwidth.value for cores in range(1, 81)]
        assert any(found), name


def test_the_last_letter_of_an_architecture_is_its_class_and_says_when_mlx_commits() -> None:
    found = {letter: gpu_class(f"applegpu_g15{letter}") for letter in "pgsd"}
    assert found == {
        "p": ("phone", BufferLimits(20, 40)),
        "g": ("base or Pro", BufferLimits(40, 40)),
        "s": ("Max", BufferLimits(50, 50)),
        "d": ("Ultra", BufferLimits(50, 50)),
    }
    assert [gpu_class(strange) for strange in ("x86_64", "amd_s", "applegpu_g15x", "")] == [
        None
    ] * 4


@pytest.mark.skipif(sys.platform == "darwin", reason="the figures of a Mac are there")
@pytest.mark.parametrize(
    ("facts", "reason"),
    [({}, "not name its chip."), ({"chip": "AMD EPYC", "gpu_cores": 8}, "is no chip of Apple's.")],
)
def test_this_machine_has_no_figures_of_apples(facts: dict[str, object], reason: str) -> None:
    found = this_chip(facts)
    assert found.cores is None
    assert found.bandwidth.value is None
    assert found.bandwidth.reason.endswith(reason)
