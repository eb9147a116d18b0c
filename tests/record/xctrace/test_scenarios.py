"""What each scenario of the fake makes of the command line: the words, the code, what is kept."""

import plistlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from tracekit.base.recording import Recording

pytestmark = pytest.mark.processes

Scenario = Callable[..., None]
TRUE = ("--", "/bin/true")
COUNTERS = ("--counters", "on")
HITCHES = "Hitches is not supported on this platform."
REJECTED = "GPU Service reported error: Selected counter profile is not supported on target device"


@dataclass(frozen=True)
class Scene:
    """One scenario, and what must come of it.

    `kept` is "bundle" (it can be exported), "raw" (it is there, and cannot) or "" (nothing).
    """

    name: str
    keys: dict[str, Any]
    code: int
    words: str
    kept: str = "bundle"
    options: tuple[str, ...] = ()
    target: tuple[str, ...] = field(default=TRUE)


SCENES = (
    Scene("all-well", {}, 0, "Go on with: tracekit export"),
    Scene(
        "licence", {"toolchain": "licence"}, 3, "sudo xcodebuild -license", "",
        ("--recorder", "xctrace"),
    ),
    Scene("saved-with-errors", {"issues": [["Error", HITCHES]]}, 3,
          f"xctrace recorded with errors: {HITCHES}"),
    Scene("performance-lock", {"locked": 9}, 3, "could not lock kperf"),
    Scene("died-while-saving", {"die": {"at": "saving", "code": 139}}, 3, "signal SIGSEGV", "raw"),
    Scene("nothing-saved", {"saves": False}, 3, "There is no bundle at", ""),
    Scene("target-failed", {}, 3, "The recorded program failed (exit(3))",
          target=("--", "/bin/sh", "-c", "exit 3")),
    Scene("target-outlives-the-limit", {}, 0, "Go on with", options=("--time-limit", "200ms"),
          target=("--", "/bin/sleep", "60")),
    Scene("counters-on-m3", {"chip": "M3"}, 0, REJECTED, options=COUNTERS),
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once; a person would rather wait."""
    monkeypatch.setattr("time.sleep", _nap(__import__("time").sleep))


def _nap(sleep: Callable[[float], None]) -> Callable[[float], None]:
    def nap(seconds: float) -> None:
        sleep(min(seconds, 0.2))

    return nap


@pytest.mark.parametrize("scene", SCENES, ids=lambda one: one.name)
def test_a_scenario(
    scene: Scene, scenario: Scenario, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scenario(**scene.keys)
    code = run("record", "--output", folder, *scene.options, *scene.target)
    said = " ".join(capfd.readouterr().err.split())
    assert scene.words in said
    assert code == scene.code
    recording = Recording(folder)
    assert recording.bundle.exists() == bool(scene.kept)
    if code == 2 or scene.keys.get("toolchain"):
        assert not folder.exists()
        return
    stage = recording.provenance().stages["record"]
    assert stage.state == ("failed" if code == 3 else "done")
    scenario()
    if scene.kept == "bundle" and code != 0:
        assert run("export", folder) in {0, 4}
        assert recording.toc_file.exists()
    elif scene.kept == "raw":
        assert run("export", folder) == 3


def keyed_archive(profile: int) -> bytes:
    """Make a template file as Instruments might: a keyed archive with the counters' profile."""
    objects = [
        "$null",
        {"NS.keys": [plistlib.UID(2)], "NS.objects": [plistlib.UID(3)], "$class": plistlib.UID(4)},
        "counterprofile",
        profile,
        {"$classname": "NSDictionary", "$classes": ["NSDictionary", "NSObject"]},
    ]
    archive = {
        "$archiver": "NSKeyedArchiver",
        "$version": 100_000,
        "$top": {"root": plistlib.UID(1)},
        "$objects": objects,
    }
    return plistlib.dumps(archive, fmt=plistlib.FMT_BINARY)


@pytest.mark.parametrize(
    ("chip", "profile", "rejected"), [("M3", 13, False), ("M3", 3, True), ("M1", 3, False)]
)
def test_a_template_with_a_profile_gives_counters_where_the_chip_has_it(
    chip: str,
    profile: int,
    scenario: Scenario,
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    *,
    rejected: bool,
) -> None:
    template = folder.parent / "Mine.tracetemplate"
    template.write_bytes(keyed_archive(profile))
    scenario(chip=chip)
    assert run("record", "--output", folder, "--template", template, *TRUE) == 0
    assert (REJECTED in " ".join(capfd.readouterr().err.split())) == rejected
    assert run("export", folder) == 0
    counters = (folder / "exports" / "metal-gpu-counter-intervals.xml").read_text()
    assert ("<row>" in counters) == (not rejected)


def test_too_little_disk_is_told_before_anything_is_recorded(
    scenario: Scenario,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    scenario()
    monkeypatch.setenv("TRACEKIT_DISK_FLOOR", "100000000")
    assert run("record", "--output", folder, *TRUE) == 3
    assert "Nothing was recorded" in capfd.readouterr().err
    assert not (folder / "recording.trace").exists()


def test_what_export_learns_of_missing_rows_is_told_too(
    scenario: Scenario, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scenario()
    assert run("record", "--output", folder, *TRUE) == 0
    assert Recording(folder).provenance().target_rows is None
    scenario(others_only=True)
    assert run("export", folder) == 4
    assert "rows of other processes only" in capfd.readouterr().err
    assert Recording(folder).provenance().target_rows is False
    scenario()
    assert run("export", folder) == 0
    assert Recording(folder).provenance().target_rows is True
