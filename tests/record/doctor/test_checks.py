"""What each check says of a machine: one line a case, against a Mac that is ready."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.machine.state import State
from tracekit.record.doctor.checks import FactStatus, MachineFact, run_checks
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.xctrace.claim import Rival
from tracekit.record.xctrace.command import Completed

Make = Callable[..., DoctorSurroundings]
# How a fact stands, and whether nothing can be recorded without it.
OK, WARNING, FAILED = (FactStatus.OK, False), (FactStatus.WARNING, False), (FactStatus.FAILED, True)
UNKNOWN, OPEN = (FactStatus.UNKNOWN, False), (FactStatus.UNKNOWN, True)
SURROUNDING = {"architecture", "environment", "executable", "read_free_bytes", "rivals", "state"}
VERSION, BUILD = "/usr/bin/sw_vers -productVersion", "/usr/bin/sw_vers -buildVersion"
ROSETTA, CORES = "/usr/sbin/sysctl -n sysctl.proc_translated", "/usr/sbin/ioreg"
VIRTUAL = "/usr/sbin/sysctl -n kern.hv_vmm_present"
CHIP = "/usr/sbin/sysctl -n machdep.cpu.brand_string"
MODE, GROUPS = "/usr/sbin/DevToolsSecurity -status", "/usr/bin/id -Gn"
FIND, SELECTED, XCTRACE = "xcrun --find xctrace", "xcode-select -p", "/X/xctrace version"
CODESIGN, MANAGER = "/usr/bin/codesign -dv", "/bin/launchctl managername"
TEMPLATES, INSTRUMENTS = "/X/xctrace list templates", "/X/xctrace list instruments"
NOT_FOUND = 'xcrun: error: unable to find utility "xctrace"'
NOT_AGREED = "You have not agreed to the Xcode license agreements."
DISABLED = "Developer mode is currently disabled.\n"
TOOLS = "/Library/Developer/CommandLineTools"
PARAVIRTUAL = '["0.32.1", true, {"device_name": "Apple Paravirtual device"}]'
INTEL = {"architecture": "x86_64"}
AT = "2026-11-20T10:15:03+00:00"


def make_completed(code: int, error_text: str) -> Completed:
    return Completed(("xcrun", "--find", "xctrace"), code, "", error_text)


def make_signed(flags: str) -> Completed:
    return make_completed(0, f"CodeDirectory v=20500 size=441 flags={flags} hashes=4+7")


def broken(folder: Path) -> int:
    raise OSError(5, "Input/output error", str(folder))


def recorder(name: str, *arguments: str) -> dict[str, Any]:
    return {"rivals": lambda: (Rival(77, name, "ada", 0.0, ("/X", *arguments)),)}


def env(**environment: str) -> dict[str, Any]:
    return {"environment": environment}


def answer_free_space(count: int, **environment: str) -> dict[str, Any]:
    return {"read_free_bytes": lambda _: count} | (env(**environment) if environment else {})


def look(surroundings: DoctorSurroundings, *names: str) -> dict[str, MachineFact]:
    return {fact.name: fact for fact in run_checks(surroundings, *names)}


@pytest.mark.parametrize(
    ("fact", "change", "stands", "words", "fix"),
    [
        # only known forms are read
        ("system", {VERSION: "ProductVersion: 26.3"}, UNKNOWN, "macOS", ""),
        ("system", {BUILD: "25-D"}, UNKNOWN, "", ""),
        ("architecture", {ROSETTA: "1\n", **INTEL}, FAILED, "Rosetta", "arm64"),
        ("architecture", {ROSETTA: "0\n", **INTEL}, OPEN, "x86_64", "uname"),
        ("architecture", {ROSETTA: None, **INTEL}, OPEN, "x86_64", "uname"),
        ("virtual machine", {VIRTUAL: "1\n"}, WARNING, "prove nothing about a chip", "parity"),
        ("virtual machine", {CHIP: "Apple M1 (Virtual)\n"}, WARNING, "virtual", ""),
        ("virtual machine", {VIRTUAL: "0\n"}, OK, "no", ""),
        ("virtual machine", {VIRTUAL: None}, UNKNOWN, "hv_vmm_present", ""),
        ("mlx metal", {"python": PARAVIRTUAL}, WARNING, "Paravirtual device", "parity"),
        ("gpu cores", {CORES: '"gpu-core-count" = many'}, UNKNOWN, "", ""),
        ("metal switches", env(MTL_B="0", MTL_A="1", HOME="/"), WARNING, "MTL_A, MTL_B ", "A MTL_"),
        # what a recorder would launch
        ("interpreter", {"executable": "SHIM"}, FAILED, "would trace the script", ""),
        ("interpreter", {"executable": ""}, OPEN, "", ""),
        ("mlx metal", {"python": '["0.32.1", false, {}]'}, FAILED, "", "arm64"),
        ("mlx", {"python": None}, WARNING, "", "import mlx.core"),
        ("mlx metal", {"python": None}, UNKNOWN, "", ""),
        ("mlx", {"python": "hello"}, UNKNOWN, "hello", ""),
        ("mlx metal", {"python": "[1, 2]"}, OPEN, "", ""),
        ("signature", {CODESIGN: make_signed("0x10000(runtime)")}, WARNING, "hardened", "3.13"),
        ("signature", {CODESIGN: make_signed("0x0(none)")}, OK, "signed", ""),
        ("signature", {CODESIGN: make_completed(1, "x: code object is not signed at all")}, OK,
         "not signed", ""),
        ("signature", {CODESIGN: "something else"}, UNKNOWN, "no flags", ""),
        ("signature", {CODESIGN: None}, UNKNOWN, "cannot be started", ""),
        ("session", env(SSH_CONNECTION="::1 1 ::1 22"), OK, "ssh", ""),
        ("session", {MANAGER: "Background\n"}, UNKNOWN, "'Background'", ""),
        # Xcode
        ("developer folder", {SELECTED: TOOLS}, FAILED, "Selected", "DEVELOPER_DIR="),
        ("developer folder", {SELECTED: "none\n"}, UNKNOWN, "", ""),
        ("developer folder", env(DEVELOPER_DIR="/X-beta.app"), OK, "beta.app (DEVELOPER_DIR)", ""),
        ("developer folder", env(DEVELOPER_DIR=TOOLS), FAILED, "DEVELOPER_DIR names", ""),
        ("xctrace", {XCTRACE: "xctrace version 16.0 (17F113)\n"}, OK, "of Xcode 26", ""),
        ("xctrace", {XCTRACE: "something else\n"}, UNKNOWN, "something else", ""),
        ("xctrace", {FIND: make_completed(72, NOT_FOUND)}, FAILED, "unable to find",
         "select --switch"),
        ("xctrace", {FIND: make_completed(69, NOT_AGREED)}, FAILED, "not agreed",
         "xcodebuild -license"),
        ("xctrace", {FIND: make_completed(3, "Sorry.")}, FAILED, "code 3: Sorry.", "by hand"),
        ("template", {FIND: make_completed(3, "Sorry.")}, UNKNOWN, "", ""),
        ("template", {TEMPLATES: "== A ==\nMetal System Trace 2\n"}, FAILED, "", ""),
        ("template", {TEMPLATES: ""}, UNKNOWN, "", ""),
        ("template", {TEMPLATES: None}, UNKNOWN, "", ""),
        ("gpu counters", {INSTRUMENTS: "== A ==\nGPU\n"}, WARNING, "", "--template"),
        # permission: two sentences are known
        ("developer mode", {MODE: DISABLED}, WARNING, "disabled", "sudo DevToolsSecurity -enable"),
        ("developer mode", {MODE: "Developer mode is enabled."}, OPEN, "is en", ""),
        ("developer mode", {MODE: None}, OPEN, "", ""),
        ("developer group", {GROUPS: "staff _developers\n"}, WARNING, "", "dseditgrou"),
        # room
        ("other recorders", recorder("xctrace", "record"), WARNING, "77", "-INT 77"),
        ("other recorders", recorder("xctrace", "export"), OK, "", ""),
        ("other recorders", recorder("Instruments"), WARNING, "process 77", ""),
        ("disk for runs", answer_free_space(9_900_000_000), FAILED, "9.9 GB free",
         "TRACEKIT_DISK_FLOOR"),
        ("disk for staging", answer_free_space(9_900_000_000), FAILED, "10 GB must", ""),
        ("disk for runs", answer_free_space(10_000_000_000), OK, "", ""),
        ("disk for runs", answer_free_space(3_000_000_000, TRACEKIT_DISK_FLOOR="2"), OK, "", ""),
        ("disk for runs", answer_free_space(9, TRACEKIT_DISK_FLOOR="x"), FAILED, "", "unset"),
        ("disk for runs", {"read_free_bytes": broken}, OPEN, "Input/output error", ""),
        ("nightly", {"state": lambda: State(AT)}, OK, "readable: nothing", ""),
        (
            "nightly", {"state": lambda: State(AT, {"mains": 0.0, "battery": 0.53})},
            WARNING, "on battery at 53.0 %; only mains", "inconclusive",
        ),
    ],
)  # fmt: skip
def test_a_mac(
    *, fact: str, change: dict[str, Any], stands: tuple[FactStatus, bool], words: str, fix: str,
    mac: Make, tmp_path: Path,
) -> None:  # fmt: skip
    """Change what tools answer, by their command lines, or what surrounds the doctor, by name."""
    if change.get("executable") == "SHIM":
        shim = tmp_path / "SHIM"
        shim.write_text("#!/usr/bin/env bash\nexec pyenv exec python3\n")
        change = {"executable": str(shim)}
    more = {name: value for name, value in change.items() if name in SURROUNDING}
    answers = {name: answer for name, answer in change.items() if name not in SURROUNDING}
    result = look(mac(answers, **more))[fact]
    assert (result.verdict, result.needed) == stands
    assert words in result.words
    assert fix in result.fix


def test_a_folder_that_nights_cannot_read_is_named(
    mac: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    result = look(mac(runs=tmp_path / "Documents" / "runs"), "reach of launchd")["reach of launchd"]
    assert (result.verdict, result.needed) == WARNING
    assert "it lies in Documents, which macOS closes to jobs of launchd." in result.words
    assert "another folder" in result.fix


def test_a_fully_known_state_has_no_row_of_unknowns(mac: Make) -> None:
    state = State(AT, {"load": 0.0}, {"calibration": "no fixed work was done."})
    assert list(look(mac(state=lambda: state), "nightly")) == ["nightly"]


def test_without_xctrace_megabytes_are_enough(linux: Make) -> None:
    facts = look(linux(read_free_bytes=lambda _: 200_000_000))
    assert facts["disk for runs"].verdict is FactStatus.OK
    for name in ("other recorders", "staging files", "xctrace", "gpu cores"):
        assert facts[name].verdict is FactStatus.NOT_APPLICABLE, name
    assert (
        look(linux(read_free_bytes=lambda _: 50_000_000))["disk for runs"].verdict
        is FactStatus.FAILED
    )


def test_gigabytes_left_by_recordings_are_a_warning(mac: Make, tmp_path: Path) -> None:
    for number in (1, 2):
        with (tmp_path / f"instruments{number}.ktrace").open("wb") as file:
            os.truncate(file.fileno(), 700_000_000)
    fact = look(mac())["staging files"]
    assert (fact.verdict, "2 left by recordings, 1.4 GB" in fact.words) == (
        FactStatus.WARNING,
        True,
    )
    (tmp_path / "instruments2.ktrace").unlink()
    assert look(mac())["staging files"].verdict is FactStatus.OK


@pytest.mark.processes
def test_every_check_of_this_machine_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = look(DoctorSurroundings(), "tracekit", "host recorder", "interpreter", "mlx")
    metal = facts.pop("mlx metal")
    assert {fact.verdict for fact in facts.values()} == {FactStatus.OK}
    assert metal.verdict in {FactStatus.OK, FactStatus.NOT_APPLICABLE}
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    fact = look(replace(DoctorSurroundings()), "host recorder")["host recorder"]
    assert (fact.verdict, "cannot be sampled" in fact.words) == (FactStatus.FAILED, True)
    assert "TMPDIR" in fact.fix


def test_programs_are_found_on_the_path_alone_and_must_succeed() -> None:
    environments = ({}, {"PATH": ""}, {"PATH": "/bin"})
    found_paths = [
        DoctorSurroundings(environment=environment).find("sh") for environment in environments
    ]
    assert found_paths == [None, None, "/bin/sh"]
    results = (Completed((), 0, "yes\n"), Completed((), 1, "yes\n"))
    answers = [
        DoctorSurroundings(run=lambda *_, outcome=outcome: outcome).answer("x")
        for outcome in results
    ]
    assert answers == ["yes", ""]
