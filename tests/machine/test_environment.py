"""What a night ran on, and what the history calls it."""

import platform
import plistlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from tracekit.base.errors import ToolError
from tracekit.machine.environment import environment, machine_name
from tracekit.machine.machine import Machine

UUID = "4203018E-580F-C1B5-9525-B745CECA79EB"


def mac(name: str = UUID, build: str = "25D2128\n") -> Machine:
    def answer(command: tuple[str, ...], patience: float) -> bytes:
        assert patience > 0
        if command[0] == "/usr/bin/sw_vers":
            return build.encode()
        if "IOPlatformExpertDevice" in command:
            return plistlib.dumps([{"IOPlatformUUID": name, "model": b"Mac15,9"}])
        return b"xctrace version 26.0 (17C529)\n"

    plugged = SimpleNamespace(percent=100, power_plugged=True)
    return Machine("Darwin", answer=answer, battery=lambda: plugged)


def test_no_host_is_named(tmp_path: Path) -> None:
    file = tmp_path / "machine-id"
    file.write_text("3d1219c7c4c5404aaa1f6d2a48adfda4\n")
    reported = " ".join(map(str, environment(Machine("Linux"), file).values()))
    assert platform.node() not in reported.split()
    assert "3d1219c7" not in reported


def test_a_mac_has_builds_of_its_system_and_of_xcode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    facts = environment(mac())
    assert (facts["os_build"], facts["power"]) == ("25D2128", "mains")
    assert "xcode_build" not in facts
    (tmp_path / "xcrun").touch(0o755)
    facts = environment(mac(build="sw_vers: error\n"))
    assert "os_build" not in facts
    assert facts["xcode_build"] == "17C529"  # the one in brackets


def test_a_machine_keeps_its_id_and_another_has_another() -> None:
    first = environment(mac())["machine_id"]
    assert environment(mac(UUID.lower()))["machine_id"] == first
    assert environment(mac(UUID.replace("4", "5")))["machine_id"] != first


@pytest.mark.parametrize("content", [None, "\n"])
def test_without_an_id_of_the_system_a_kept_random_name_tells_machines_apart(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "machine-id"
    if content is not None:
        file.write_text(content)
    found: list[str] = []
    for cache in ("first", "first", "second"):
        monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path / cache))
        found.append(environment(Machine("Linux"), file)["machine_id"])
    assert found[0] == found[1] != found[2]
    (tmp_path / "taken").touch()
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path / "taken"))
    with pytest.raises(ToolError, match="no name of its own") as caught:
        environment(Machine("Linux"), file)
    assert "machine = " in caught.value.hint


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
