import sys
from typing import Any

import pytest

from tracekit.machine.chips import (
    BufferLimits,
    Confidence,
    chip,
    gpu_class,
    known_chips,
    spelled,
    this_chip,
)

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
    for (name, cores), found in BANDWIDTHS.items():
        figure = chip(name, cores).bandwidth
        if isinstance(found, str):
            assert (figure.value, figure.confidence) == (None, None)
            assert found in figure.reason
        else:
            assert (figure.value, figure.confidence) == (found * 1e9, Confidence.PUBLISHED)


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
    for (name, cores), (found, confidence) in ARITHMETIC.items():
        figure = chip(name, cores).fp32
        assert figure.confidence is confidence
        if isinstance(found, str):
            assert figure.value is None
            assert found in figure.reason
        else:
            assert figure.value == pytest.approx(found * 1e12)
            scaled = name in {"Apple M1 Max", "Apple M4 Max"} and cores != 32
            assert ("scaled from the one with 32 cores" in figure.source) is scaled


def test_halves_are_as_fast_as_floats_only_where_a_source_says_so() -> None:
    first, second, later = chip("Apple M1", 8), chip("Apple M2 Pro"), chip("Apple M3 Max", 40)
    assert first.fp16.value == first.fp32.value == 2.62e12
    assert second.fp16.reason == second.fp32.reason != ""
    assert later.fp16.value is None
    assert "no source states" in later.fp16.reason


def test_every_chip_has_a_bandwidth_for_some_number_of_cores() -> None:
    names = known_chips()
    assert (len(names), "Apple M5 Ultra" in names) == (18, False)
    for name in names:
        assert any(chip(name, cores).bandwidth.value for cores in range(1, 81)), name
    assert spelled("m4  MAX") == spelled("apple m4 max") == "Apple M4 Max"
    assert spelled("m9") == "m9"


def test_the_last_letter_of_an_architecture_is_its_class_and_says_when_mlx_commits() -> None:
    found = [gpu_class(f"applegpu_g15{letter}") for letter in "pgsd"]
    limits = [BufferLimits(20, 40), BufferLimits(40, 40), *[BufferLimits(50, 50)] * 2]
    assert found == list(zip(("phone", "base or Pro", "Max", "Ultra"), limits, strict=True))
    assert not any(map(gpu_class, ("x86_64", "amd_s", "applegpu_g15x", "")))


@pytest.mark.skipif(sys.platform == "darwin", reason="the figures of a Mac are there")
@pytest.mark.parametrize(
    ("facts", "reason"),
    [({}, "not name its chip."), ({"chip": "AMD EPYC", "gpu_cores": 8}, "is no chip of Apple's.")],
)
def test_this_machine_has_no_figures_of_apples(facts: dict[str, Any], reason: str) -> None:
    found = this_chip(facts)
    assert (found.cores, found.bandwidth.value) == (None, None)
    assert found.bandwidth.reason.endswith(reason)
