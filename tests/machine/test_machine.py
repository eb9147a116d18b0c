"""A machine as its commands describe it; what a night ran on, and what the history calls it."""

import platform
import plistlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tracekit.base.errors import ToolError
from tracekit.machine.environment import environment, machine_name, own_name
from tracekit.machine.machine import Machine, answer, circumstances, describe, merge_circumstances

VM_STAT = b"""Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                               12345.
Pages occupied by compressor:              2048.
"""
REGISTRY = b"""+-o AGXAcceleratorG15X  <class AGXAcceleratorG15X, id 0x100000512, registered>
    {
      "model" = "Apple M3 Max"
      "gpu-core-count" = 40
    }
"""
UUID = "4203018E-580F-C1B5-9525-B745CECA79EB"


def mac(**printed: bytes) -> Machine:
    def answer_command(command: tuple[str, ...], patience: float) -> bytes:
        assert patience > 0
        return printed.get(command[0].rpartition("/")[2], b"")

    plugged = SimpleNamespace(percent=100, power_plugged=True)
    return Machine("Darwin", answer=answer_command, battery=lambda: plugged, pressure=lambda: 0)


@pytest.mark.processes
def test_a_command_that_fails_hangs_or_is_missing_says_nothing() -> None:
    for argv, seconds, printed_bytes in (
        (("sh", "-c", "echo here"), 10, b"here\n"),
        (("sh", "-c", "echo here; exit 3"), 10, b""),
        (("sleep", "60"), 0.2, b""),
        (("/missing/pmset", "-g"), 10, b""),
    ):
        assert answer(argv, seconds) == printed_bytes, argv


def test_the_machine_is_described() -> None:
    facts = describe()
    assert facts["system"] == platform.system()
    assert facts["architecture"] == platform.machine()
    assert facts["python"] == platform.python_version()
    assert facts["cores"] >= 1
    assert not facts.get("chip", "").isdecimal()
    assert facts["memory"] > 1 << 28
    assert facts["mlx"].count(".") >= 1


def test_a_virtual_mac_is_known_as_one() -> None:
    outputs = {b"1": True, b"0": False, b"": None, b"Apple M1 (Virtual)": True, b"Apple M4": None}
    assert {output: mac(sysctl=output).is_virtual for output in outputs} == outputs
    assert Machine("Linux").is_virtual is None


def test_a_purpose_that_needs_a_chip_refuses_a_virtual_mac() -> None:
    mac(sysctl=b"0").require_chip("A probe")
    Machine("Linux").require_chip("A probe")
    with pytest.raises(ToolError, match="A probe needs the GPU of a chip"):
        mac(sysctl=b"Apple M1 (Virtual)").require_chip("A probe")


def test_gpu_cores_are_read_from_the_registry() -> None:
    registries = {REGISTRY: 40, b'  "gpu-core-count"=10\n': 10, b"": None, b'"model" = "M3"': None}
    assert {printed: mac(ioreg=printed).gpu_cores for printed in registries} == registries


def test_a_wired_limit_is_in_mebibytes_and_compressed_memory_in_pages() -> None:
    limits = {b"49152": 48 << 30, b"0": None, b"": None, b"unknown oid": None}
    for sysctl_output, limit in limits.items():
        facts = circumstances(mac(sysctl=sysctl_output, vm_stat=VM_STAT))
        assert facts.get("wired_limit") == limit, sysctl_output
        assert facts["compressed"] == 2048 * 16384, sysctl_output
        expected_keys = {"compressed", "mains", "paged_out", "swap", "thermal_pressure"}
        assert facts.keys() - {"wired_limit"} == expected_keys, sysctl_output
    assert "compressed" not in circumstances(mac(vm_stat=VM_STAT[:40]))


def test_the_later_of_two_looks_counts_with_the_pages_between() -> None:
    facts = merge_circumstances({"paged_out": 10, "swap": 1}, {"paged_out": 30, "swap": 2})
    assert facts == {"paged_out": 20, "swap": 2}
    assert merge_circumstances({"paged_out": 40}, {"paged_out": 30}) == {"paged_out": 0}
    assert merge_circumstances({}, {"paged_out": 30}) == {}


def test_no_host_is_named(tmp_path: Path) -> None:
    file = tmp_path / "machine-id"
    file.write_text("0f1e2d3c4b5a69788796a5b4c3d2e1f0\n")
    facts = environment(Machine("Linux"), file)
    assert own_name(Machine("Linux"), file) == machine_name(facts)
    reported = " ".join(map(str, facts.values()))
    assert platform.node() not in reported.split()
    assert "0f1e2d3c" not in reported


def make_registry(name: str = UUID) -> bytes:
    return plistlib.dumps([{"IOPlatformUUID": name, "model": b"Mac15,9"}])


def test_a_mac_has_builds_of_its_system_and_of_xcode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    facts = environment(mac(ioreg=make_registry(), sw_vers=b"25D2128\n"))
    assert (facts["os_build"], facts["power"]) == ("25D2128", "mains")
    assert "xcode_build" not in facts
    (tmp_path / "xcrun").touch(0o755)
    xcode = b"xctrace version 26.0 (17C529)\n"
    facts = environment(mac(ioreg=make_registry(), sw_vers=b"sw_vers: error\n", xcrun=xcode))
    assert not {"os", "os_build"} & facts.keys()
    assert facts["xcode_build"] == "17C529"  # the one in brackets


def test_a_machine_keeps_its_id_and_another_has_another() -> None:
    names = (UUID, UUID.lower(), UUID.replace("4", "5"))
    first_id, same_id, other_id = (
        environment(mac(ioreg=make_registry(name)))["machine_id"] for name in names
    )
    assert first_id == same_id != other_id


@pytest.mark.parametrize("content", [None, "\n"])
def test_without_an_id_of_the_system_a_kept_random_name_tells_machines_apart(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "machine-id"
    if content is not None:
        file.write_text(content)
    machine_ids: list[str] = []
    for cache in ("first", "first", "second"):
        monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path / cache))
        machine_ids.append(environment(Machine("Linux"), file)["machine_id"])
    assert machine_ids[0] == machine_ids[1] != machine_ids[2]
    (tmp_path / "taken").touch()
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path / "taken"))
    with pytest.raises(ToolError, match="no name of its own") as caught:
        environment(Machine("Linux"), file)
    assert "machine = " in caught.value.hint
    id_file = tmp_path / "first" / "machine-id"
    id_file.write_bytes(b"\xff")
    monkeypatch.setenv("TRACEKIT_CACHE", str(id_file.parent))
    with pytest.raises(ToolError, match=re.escape(f"nor one in {id_file}: ")):
        environment(Machine("Linux"), file)


def test_the_name_is_the_chip_and_the_id() -> None:
    xeon = "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz"
    for name, facts in {
        "apple-m4-max-3f9a1c07": {"chip": "Apple M4 Max", "machine_id": "3f9a1c07"},
        "intel-xeon-cpu-e5-2680-v4-00ff00ff": {"chip": xeon, "machine_id": "00ff00ff"},
        "aarch64-00ff00ff": {"architecture": "aarch64", "machine_id": "00ff00ff"},
        "apple-m1": {"chip": "Apple M1"},
        f"{'x' * 39}-1": {"chip": f"{'x' * 39} y", "machine_id": "1"},
        "machine": {},
        "machine-1": {"chip": "…", "machine_id": "1"},
    }.items():
        assert machine_name(facts) == name
