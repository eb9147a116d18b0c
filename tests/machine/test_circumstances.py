"""Power and memory of a machine, from what its commands print."""

import pytest

from tracekit.machine.machine import Machine, circumstances, meanwhile

VM_STAT = b"""Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                               12345.
Pages occupied by compressor:              2048.
"""


def mac(**printed: bytes) -> Machine:
    answers = {"sysctl": printed.get("sysctl", b""), "vm_stat": printed.get("vm_stat", b"")}

    def answer(command: tuple[str, ...], _: float) -> bytes:
        return answers.get(command[0].rpartition("/")[2], b"")

    return Machine(system="Darwin", answer=answer, battery=lambda: None, pressure=lambda: 0)


@pytest.mark.parametrize(
    ("said", "limit"),
    [(b"49152", 48 << 30), (b"0", None), (b"", None), (b"unknown oid", None)],
)
def test_a_wired_limit_is_in_mebibytes(said: bytes, limit: int | None) -> None:
    assert circumstances(mac(sysctl=said)).get("wired_limit") == limit


def test_the_compressors_pages_are_counted_in_bytes() -> None:
    assert circumstances(mac(vm_stat=VM_STAT))["compressed"] == 2048 * 16384
    assert "compressed" not in circumstances(mac(vm_stat=VM_STAT[:40]))


def test_what_is_not_known_is_absent() -> None:
    facts = circumstances(mac(sysctl=b"1024"))
    assert facts["wired_limit"] == 1 << 30
    assert "compressed" not in facts
    assert {"swap", "paged_out", "thermal_pressure"} <= set(facts)


def test_of_two_looks_the_later_one_counts_and_what_was_paged_out_between() -> None:
    found = meanwhile({"paged_out": 10, "swap": 1}, {"paged_out": 30, "swap": 2})
    assert found == {"paged_out": 20, "swap": 2}
    assert meanwhile({}, {"paged_out": 30}) == {}
