"""What each check says of a machine: one line a case, against a Mac that is ready."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.machine.state import State
from tracekit.record.doctor.checks import Fact, Verdict, checked
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.xctrace.claim import Rival
from tracekit.record.xctrace.command import Completed

Make = Callable[..., Surroundings]
OK, WARNING, FAILED = Verdict.OK, Verdict.WARNING, Verdict.FAILED
UNKNOWN, NOT_APPLICABLE = Verdict.UNKNOWN, Verdict.NOT_APPLICABLE
NEEDED = True  # nothing can be recorded without it
VERSION, BUILD = "/usr/bin/sw_vers -productVersion", "/usr/bin/sw_vers -buildVersion"
ROSETTA, CORES = "/usr/sbin/sysctl -n sysctl.proc_translated", "/usr/sbin/ioreg"
MODE, GROUPS = "/usr/sbin/DevToolsSecurity -status", "/usr/bin/id -Gn"
FIND, SELECTED, XCTRACE = "xcrun --find xctrace", "xcode-select -p", "/X/xctrace version"
TEMPLATES, INSTRUMENTS = "/X/xctrace list templates", "/X/xctrace list instruments"
TOOLS = "/Library/Developer/CommandLineTools"
INTEL = {"architecture": "x86_64"}
AT = "2026-11-20T10:15:03+00:00"


def ended(code: int, said: str) -> Completed:
    return Completed(("xcrun", "--find", "xctrace"), code, "", said)


def broken(folder: Path) -> int:
    raise OSError(5, "Input/output error", str(folder))


def recorder(name: str, *arguments: str) -> dict[str, Any]:
    return {"rivals": lambda: (Rival(77, name, "ada", 0.0, ("/X", *arguments)),)}


def free(count: int, **environment: str) -> dict[str, Any]:
    return {"free": lambda _: count} | ({"environment": environment} if environment else {})


def look(surroundings: Surroundings, *names: str) -> dict[str, Fact]:
    return {fact.name: fact for fact in checked(surroundings, *names)}


@pytest.mark.parametrize(
    ("fact", "answers", "more", "verdict", "words", "fix", "needed"),
    [
        # only known forms are read
        ("system", {VERSION: "ProductVersion: 26.3"}, {}, UNKNOWN, "macOS", "", False),
        ("system", {BUILD: "25-D"}, {}, UNKNOWN, "", "", False),
        ("architecture", {ROSETTA: "1\n"}, INTEL, FAILED, "Rosetta", "arm64", NEEDED),
        ("architecture", {ROSETTA: "0\n"}, INTEL, UNKNOWN, "x86_64", "uname", NEEDED),
        ("architecture", {ROSETTA: None}, INTEL, UNKNOWN, "x86_64", "uname", NEEDED),
        ("gpu cores", {CORES: '"gpu-core-count" = many'}, {}, UNKNOWN, "", "", False),
        (
            "metal switches", {}, {"environment": {"MTL_HUD": "0", "MTL_A": "1", "HOME": "/"}},
            WARNING, "MTL_A, MTL_HUD", "unset MTL_A MTL_HUD", False,
        ),
        # what a recorder would launch
        ("interpreter", {}, {"executable": "SHIM"}, FAILED, "would trace the script", "", NEEDED),
        ("interpreter", {}, {"executable": ""}, UNKNOWN, "", "", NEEDED),
        ("mlx metal", {"python": '["0.32.1", false, {}]'}, {}, FAILED, "", "arm64", NEEDED),
        ("mlx", {"python": None}, {}, WARNING, "", "import mlx.core", False),
        ("mlx metal", {"python": None}, {}, UNKNOWN, "", "", False),
        ("mlx", {"python": "hello"}, {}, UNKNOWN, "hello", "", False),
        ("mlx metal", {"python": "[1, 2]"}, {}, UNKNOWN, "", "", NEEDED),
        # Xcode
        ("developer folder", {SELECTED: TOOLS}, {}, FAILED, "Selected", "DEVELOPER_DIR=", NEEDED),
        ("developer folder", {SELECTED: "none\n"}, {}, UNKNOWN, "", "", False),
        (
            "developer folder", {}, {"environment": {"DEVELOPER_DIR": "/Xcode-beta.app"}},
            OK, "beta.app (DEVELOPER_DIR)", "", False,
        ),
        (
            "developer folder", {}, {"environment": {"DEVELOPER_DIR": TOOLS}},
            FAILED, "DEVELOPER_DIR names", "", NEEDED,
        ),
        ("xctrace", {XCTRACE: "xctrace version 16.0 (17F113)\n"}, {}, OK, "of Xcode 26", "", False),
        ("xctrace", {XCTRACE: "something else\n"}, {}, UNKNOWN, "something else", "", False),
        (
            "xctrace", {FIND: ended(72, 'xcrun: error: unable to find utility "xctrace"')}, {},
            FAILED, "unable to find", "xcode-select --switch", NEEDED,
        ),
        (
            "xctrace", {FIND: ended(69, "You have not agreed to the Xcode license agreements.")},
            {}, FAILED, "not agreed", "xcodebuild -license", NEEDED,
        ),
        ("xctrace", {FIND: ended(3, "Sorry.")}, {}, FAILED, "code 3: Sorry.", "by hand", NEEDED),
        ("template", {FIND: ended(3, "Sorry.")}, {}, UNKNOWN, "", "", False),
        ("template", {TEMPLATES: "== A ==\nMetal System Trace 2\n"}, {}, FAILED, "", "", NEEDED),
        ("template", {TEMPLATES: ""}, {}, UNKNOWN, "", "", False),
        ("template", {TEMPLATES: None}, {}, UNKNOWN, "", "", False),
        ("gpu counters", {INSTRUMENTS: "== A ==\nGPU\n"}, {}, WARNING, "", "--template", False),
        # permission: two sentences are known
        (
            "developer mode", {MODE: "Developer mode is currently disabled.\n"}, {},
            WARNING, "disabled", "`sudo DevToolsSecurity -enable`, once.", False,
        ),
        ("developer mode", {MODE: "Developer mode is enabled."}, {}, UNKNOWN, "is en", "", NEEDED),
        ("developer mode", {MODE: None}, {}, UNKNOWN, "", "", NEEDED),
        ("developer group", {GROUPS: "staff _developers\n"}, {}, WARNING, "", "dseditgrou", False),
        # room
        ("other recorders", {}, recorder("xctrace", "record"), WARNING, "77", "-INT 77", False),
        ("other recorders", {}, recorder("xctrace", "export"), OK, "", "", False),
        ("other recorders", {}, recorder("Instruments"), WARNING, "process 77", "", False),
        (
            "disk for runs", {}, free(9_900_000_000),
            FAILED, "9.9 GB free", "TRACEKIT_DISK_FLOOR", NEEDED,
        ),
        ("disk for staging", {}, free(9_900_000_000), FAILED, "10 GB must", "", NEEDED),
        ("disk for runs", {}, free(10_000_000_000), OK, "", "", False),
        ("disk for runs", {}, free(3_000_000_000, TRACEKIT_DISK_FLOOR="2"), OK, "", "", False),
        ("disk for runs", {}, free(9, TRACEKIT_DISK_FLOOR="x"), FAILED, "", "unset", NEEDED),
        ("disk for runs", {}, {"free": broken}, UNKNOWN, "Input/output error", "", NEEDED),
        ("nightly", {}, {"state": lambda: State(AT)}, OK, "readable: nothing", "", False),
        (
            "nightly", {}, {"state": lambda: State(AT, {"mains": 0.0, "battery": 0.53})},
            WARNING, "on battery at 53.0 %; only mains", "inconclusive", False,
        ),
    ],
)  # fmt: skip
def test_a_mac(
    *, fact: str, answers: dict[str, Any], more: dict[str, Any], verdict: Verdict, words: str,
    fix: str, needed: bool, mac: Make, tmp_path: Path,
) -> None:  # fmt: skip
    if more.get("executable") == "SHIM":
        shim = tmp_path / "SHIM"
        shim.write_text("#!/usr/bin/env bash\nexec pyenv exec python3\n")
        more = {"executable": str(shim)}
    found = look(mac(answers, **more))[fact]
    assert (found.verdict, found.needed) == (verdict, needed)
    assert words in found.words
    assert fix in found.fix


def test_a_state_of_which_all_is_known_has_no_row_of_what_is_not(mac: Make) -> None:
    state = State(AT, {"load": 0.0}, {"calibration": "no fixed work was done."})
    assert list(look(mac(state=lambda: state), "nightly")) == ["nightly"]


def test_without_xctrace_megabytes_are_enough(linux: Make) -> None:
    facts = look(linux(free=lambda _: 200_000_000))
    assert facts["disk for runs"].verdict is OK
    for name in ("other recorders", "staging files", "xctrace", "gpu cores"):
        assert facts[name].verdict is NOT_APPLICABLE
    assert look(linux(free=lambda _: 50_000_000))["disk for runs"].verdict is FAILED


def test_gigabytes_left_by_recordings_are_a_warning(mac: Make, tmp_path: Path) -> None:
    for number in (1, 2):
        with (tmp_path / f"instruments{number}.ktrace").open("wb") as file:
            os.truncate(file.fileno(), 700_000_000)
    fact = look(mac())["staging files"]
    assert (fact.verdict, "2 left by recordings, 1.4 GB" in fact.words) == (WARNING, True)
    (tmp_path / "instruments2.ktrace").unlink()
    assert look(mac())["staging files"].verdict is OK


@pytest.mark.processes
def test_what_runs_here_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = look(Surroundings(), "tracekit", "host recorder", "interpreter", "mlx")
    metal = facts.pop("mlx metal")
    assert {fact.verdict for fact in facts.values()} == {OK}
    assert metal.verdict in {OK, NOT_APPLICABLE}
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    fact = look(replace(Surroundings()), "host recorder")["host recorder"]
    assert (fact.verdict, "cannot be sampled" in fact.words) == (FAILED, True)
