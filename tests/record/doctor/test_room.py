"""Other recorders, disks, staging files."""

import os
from collections.abc import Callable
from pathlib import Path

from tracekit.record.doctor.checks import Fact, Verdict, checked
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.xctrace.claim import Rival

Make = Callable[..., Surroundings]
RECORDING = Rival(77, "xctrace", "ada", 0.0, ("/X/xctrace", "record", "--attach", "1"))
EXPORTING = Rival(78, "xctrace", "ada", 0.0, ("/X/xctrace", "export", "--toc"))
INSTRUMENTS = Rival(79, "Instruments", "ada")


ROOM = ("other recorders", "disk for runs", "disk for staging", "staging files")


def look(surroundings: Surroundings) -> dict[str, Fact]:
    return {fact.name: fact for fact in checked(surroundings, *ROOM)}


def test_a_recorder_that_runs_is_named(mac: Make) -> None:
    fact = look(mac(rivals=lambda: (RECORDING,)))["other recorders"]
    assert fact.verdict is Verdict.WARNING
    assert "process 77" in fact.words
    assert "kill -INT 77" in fact.fix


def test_an_open_instruments_is_named(mac: Make) -> None:
    fact = look(mac(rivals=lambda: (INSTRUMENTS,)))["other recorders"]
    assert fact.verdict is Verdict.WARNING
    assert "process 79" in fact.words


def test_a_disk_below_the_floor_fails(mac: Make) -> None:
    facts = look(mac(free=lambda _: 9_900_000_000))
    for name in ("disk for runs", "disk for staging"):
        assert facts[name].verdict is Verdict.FAILED
        assert "9.9 GB free" in facts[name].words
        assert "10 GB must stay free" in facts[name].words
        assert "TRACEKIT_DISK_FLOOR" in facts[name].fix


def test_the_floor_can_be_lowered(mac: Make) -> None:
    lowered = mac(free=lambda _: 3_000_000_000, environment={"TRACEKIT_DISK_FLOOR": "2"})
    assert look(lowered)["disk for runs"].verdict is Verdict.OK


def test_without_xctrace_megabytes_are_enough(linux: Make) -> None:
    facts = look(linux(free=lambda _: 200_000_000))
    assert facts["disk for runs"].verdict is Verdict.OK
    assert facts["other recorders"].verdict is Verdict.NOT_APPLICABLE
    assert facts["staging files"].verdict is Verdict.NOT_APPLICABLE
    facts = look(linux(free=lambda _: 50_000_000))
    assert facts["disk for runs"].verdict is Verdict.FAILED


def test_a_disk_that_cannot_be_measured_leaves_the_question_open(mac: Make) -> None:
    def broken(folder: Path) -> int:
        raise OSError(5, "Input/output error", str(folder))

    fact = look(mac(free=broken))["disk for runs"]
    assert fact.verdict is Verdict.UNKNOWN
    assert fact.needed
    assert "Input/output error" in fact.words


def test_gigabytes_left_by_recordings_are_a_warning(mac: Make, tmp_path: Path) -> None:
    for number in (1, 2):
        with (tmp_path / f"instruments{number}.ktrace").open("wb") as file:
            os.truncate(file.fileno(), 700_000_000)
    fact = look(mac())["staging files"]
    assert fact.verdict is Verdict.WARNING
    assert "2 left by recordings, 1.4 GB" in fact.words
    assert "lsof" in fact.fix
    (tmp_path / "instruments2.ktrace").unlink()
    assert look(mac())["staging files"].verdict is Verdict.OK
