"""The system, the architecture, the chip: only known forms are read, all else is unknown."""

from collections.abc import Callable

import pytest

from tracekit.record.doctor.checks import Fact, Verdict, checked
from tracekit.record.doctor.surroundings import Surroundings

Make = Callable[..., Surroundings]
CORES = "/usr/sbin/ioreg"


def look(surroundings: Surroundings) -> dict[str, Fact]:
    return {
        fact.name: fact
        for fact in checked(
            surroundings, "system", "architecture", "chip", "gpu cores", "metal switches"
        )
    }


@pytest.mark.parametrize("said", ["ProductVersion: 26.3", "", "26.3.1 extra"])
def test_a_version_in_another_form_is_unknown(said: str, mac: Make) -> None:
    fact = look(mac({"/usr/bin/sw_vers -productVersion": said}))["system"]
    assert fact.verdict is Verdict.UNKNOWN
    assert "macOS" in fact.words


@pytest.mark.parametrize("said", ["", "build 25D2128", "25-D"])
def test_a_build_in_another_form_is_unknown(said: str, mac: Make) -> None:
    assert look(mac({"/usr/bin/sw_vers -buildVersion": said}))["system"].verdict is Verdict.UNKNOWN


def test_rosetta_fails_with_its_fix(mac: Make) -> None:
    translated = {"/usr/sbin/sysctl -n sysctl.proc_translated": "1\n"}
    fact = look(mac(translated, architecture="x86_64"))["architecture"]
    assert fact.verdict is Verdict.FAILED
    assert "Rosetta" in fact.words
    assert "arm64" in fact.fix


@pytest.mark.parametrize("said", ["0\n", None, "yes\n"])
def test_an_intel_python_that_is_not_known_to_be_translated_is_unknown(
    said: str | None, mac: Make
) -> None:
    answers = {"/usr/sbin/sysctl -n sysctl.proc_translated": said}
    fact = look(mac(answers, architecture="x86_64"))["architecture"]
    assert fact.verdict is Verdict.UNKNOWN
    assert fact.needed


@pytest.mark.parametrize("said", ["", '"gpu-core-count" = many', '"core-count" = 8'], ids=repr)
def test_gpu_cores_that_are_not_named_are_unknown(said: str, mac: Make) -> None:
    fact = look(mac({CORES: said}))["gpu cores"]
    assert fact.verdict is Verdict.UNKNOWN
    assert not fact.needed


def test_switches_that_distort_metal_are_named(mac: Make) -> None:
    environment = {"MTL_DEBUG_LAYER": "1", "MTL_HUD_ENABLED": "0", "HOME": "/"}
    fact = look(mac(environment=environment))["metal switches"]
    assert fact.verdict is Verdict.WARNING
    assert "MTL_DEBUG_LAYER, MTL_HUD_ENABLED" in fact.words
    assert "unset MTL_DEBUG_LAYER MTL_HUD_ENABLED" in fact.fix
