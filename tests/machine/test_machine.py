"""A machine as its commands describe it, and its power and memory."""

import platform

from tracekit.machine.machine import Machine, circumstances, describe, meanwhile

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


def mac(**printed: bytes) -> Machine:
    def answer(command: tuple[str, ...], _: float) -> bytes:
        return printed.get(command[0].rpartition("/")[2], b"")

    return Machine(system="Darwin", answer=answer, battery=lambda: None, pressure=lambda: 0)


def test_the_machine_is_described() -> None:
    facts = describe()
    assert facts["system"] == platform.system()
    assert facts["architecture"] == platform.machine()
    assert facts["python"] == platform.python_version()
    assert facts["cores"] >= 1
    assert facts["memory"] > 1 << 28
    assert facts["mlx"].count(".") >= 1


def test_gpu_cores_are_read_from_the_registry() -> None:
    registries = {
        REGISTRY: 40, b'  "gpu-core-count"=10\n': 10, b"": None, b'"model" = "M3"': None
    }  # fmt: skip
    assert {printed: mac(ioreg=printed).gpu_cores for printed in registries} == registries


def test_a_wired_limit_is_in_mebibytes_and_what_is_compressed_in_pages() -> None:
    limits = {b"49152": 48 << 30, b"0": None, b"": None, b"unknown oid": None}
    for said, limit in limits.items():
        facts = circumstances(mac(sysctl=said, vm_stat=VM_STAT))
        assert facts.get("wired_limit") == limit
        assert facts["compressed"] == 2048 * 16384
        assert {"swap", "paged_out", "thermal_pressure"} <= set(facts)
    assert "compressed" not in circumstances(mac(vm_stat=VM_STAT[:40]))


def test_of_two_looks_the_later_one_counts_and_what_was_paged_out_between() -> None:
    found = meanwhile({"paged_out": 10, "swap": 1}, {"paged_out": 30, "swap": 2})
    assert found == {"paged_out": 20, "swap": 2}
    assert meanwhile({"paged_out": 40}, {"paged_out": 30}) == {"paged_out": 0}
    assert meanwhile({}, {"paged_out": 30}) == {}
