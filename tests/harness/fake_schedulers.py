"""launchctl, systemctl and loginctl as their manuals and what they print are known.

This file is a program that is put on the PATH under each of these names. What directs it:
`exits`: a job, or a unit, to the exit code of its last run; `refuses`: words with which it starts
no job; `rehearsal`: the codes that a job writes when it is kicked, "run" to run it, "dies" for an
exit before it writes any; `no_gui`: nobody is logged in at the desktop; `lingering`: so many looks
a job that was booted out is still there; `no_bus`: no systemd runs for this user; `lingers`: the
user's timers run on after a logout.
"""

import json
import os
import plistlib
import subprocess
import sys
from pathlib import Path
from typing import Any

Answer = tuple[int, str]


class Fakes:
    """Programs in a folder, their state, and what they were asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._state, self._log = folder / "state.json", folder / "asked.jsonl"

    def install(self) -> None:
        self.folder.mkdir()
        for name in ("launchctl", "systemctl", "loginctl"):
            program = self.folder / name
            program.write_text(f"#!{sys.executable} -IS\n{Path(__file__).read_text()}")
            program.chmod(0o755)

    def tell(self, **keys: object) -> None:
        self._state.write_text(json.dumps(self.state | keys))

    @property
    def state(self) -> dict[str, Any]:
        return json.loads(self._state.read_text()) if self._state.exists() else {}

    @property
    def loaded_labels(self) -> list[str]:
        """The labels of the jobs that they were asked to load."""
        return sorted(name.removesuffix(".timer") for name in self.state.get("loaded", {}))

    @property
    def commands(self) -> list[list[str]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    def verbs(self) -> list[str]:
        """What was asked for, without looks."""
        words = ([word for word in line[1:] if not word.startswith("-")] for line in self.commands)
        return [verb for verb, *_ in words if verb not in {"print", "show", "show-user"}]

    def answer(self, program: str, *words: str) -> Answer:
        """Answer a command line as a program does: with an exit code, and what it says."""
        with self._log.open("a") as log:
            log.write(json.dumps([program, *words]) + "\n")
        state = self.state
        loaded = state.setdefault("loaded", {})
        if program == "loginctl":
            return 0, f"Linger={'yes' if state.get('lingers') else 'no'}"
        answered = (launchctl if program == "launchctl" else systemctl)(state, loaded, *words)
        self.tell(**state)
        return answered


def launchctl(  # noqa: C901, PLR0911  one for each answer that is known
    state: dict[str, Any], loaded: dict[str, str], verb: str, target: str, *files: str
) -> Answer:
    leaving: dict[str, int] = state.setdefault("leaving", {})
    domain, _, label = target.rpartition("/")
    if state.get("no_gui"):
        action = {"bootstrap": "Bootstrap", "bootout": "Boot-out"}.get(verb, "Print")
        return 125, f"{action} failed: 125: Domain does not support specified action"
    if verb == "bootstrap":
        name = plistlib.loads(Path(files[0]).read_bytes())["Label"]
        if state.get("refuses"):
            return 5, state["refuses"]
        if name in loaded or name in leaving:
            return 5, "Bootstrap failed: 5: Input/output error"
        loaded[name] = files[0]
        return 0, ""
    if verb == "bootout":
        if label not in loaded:
            return 3, "Boot-out failed: 3: No such process"
        del loaded[label]
        leaving[label] = state.get("lingering", 1)
        return 0, ""
    if verb == "kickstart":
        kick(state, loaded[label], label)
        return 0, ""
    assert verb == "print", verb
    if target.count("/") == 1:  # the user's session itself
        return 0, f"{target} = {{\n}}"
    if leaving.get(label, 0) > 0:
        leaving[label] -= 1
    elif label not in loaded:
        leaving.pop(label, None)
        domain_text = f"in domain for user gui: {domain.partition('/')[2]}"
        return 113, f'Bad request.\nCould not find service "{label}" {domain_text}'
    exits = state.get("exits", {}).get(label, "(never exited)")
    return 0, f"{target} = {{\n\tstate = not running\n\n\tlast exit code = {exits}\n}}"


def kick(state: dict[str, Any], file: str, label: str) -> None:
    """Start a job at once: play what it writes, run it, or let it die."""
    job = plistlib.loads(Path(file).read_bytes())
    folder = Path(job["EnvironmentVariables"]["TRACEKIT_REHEARSAL"])
    played = state.get("rehearsal", {})
    if played == "run":
        with Path(job["StandardOutPath"]).open("ab") as log:
            subprocess.Popen(
                job["ProgramArguments"], cwd=job["WorkingDirectory"], stdin=subprocess.DEVNULL,
                env=job["EnvironmentVariables"], stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
    elif played == "dies":
        Path(job["StandardOutPath"]).write_text("Operation not permitted")
        state.setdefault("exits", {})[label] = 1
    elif played != "hangs":
        facts = {"facts": [{"words": "No.", "name": "xctrace", "verdict": "failed"}]}
        (folder / "doctor.json").write_text(json.dumps(facts))
        for name in ("plan", "doctor", "capture"):
            (folder / f"{name}.txt").write_text(f"the words of {name}")
            (folder / f"{name}.code").write_text(f"{played.get(name, 0)}\n")


def systemctl(state: dict[str, Any], loaded: dict[str, str], *words: str) -> Answer:
    assert words[0] == "--user"
    verb, *arguments = [word for word in words if not word.startswith("-")]
    unit = arguments[0] if arguments else ""
    folder = Path(os.environ["HOME"]) / ".config" / "systemd" / "user"
    timer_link = folder / "timers.target.wants" / unit
    if state.get("no_bus"):
        return 1, "Failed to connect to bus: No medium found"
    if verb == "show":
        code = state.get("exits", {}).get(unit)
        values = {
            "Version": "252.38",
            "ActiveState": "active" if unit in loaded else "inactive",
            "ExecMainStatus": str(code or 0),
            "ExecMainExitTimestamp": "" if code is None else "Sun 2026-11-22 02:31:00 UTC",
        }
        property_names = next(word for word in words if word.startswith("--property=")).partition(
            "="
        )[2]
        return 0, "\n".join(f"{name}={values[name]}" for name in property_names.split(","))
    if verb == "enable":
        if state.get("refuses"):
            return 1, state["refuses"]
        if not (folder / unit).exists():
            return 1, f"Failed to enable unit: Unit file {unit} does not exist."
        timer_link.parent.mkdir(exist_ok=True)
        timer_link.unlink(missing_ok=True)
        timer_link.symlink_to(folder / unit)
        loaded[unit] = str(timer_link)
    elif verb == "disable":
        timer_link.unlink(missing_ok=True)
        loaded.pop(unit, None)
    else:
        assert verb == "daemon-reload" or (verb == "clean" and "--what=state" in words), words
    return 0, ""


def lying_around() -> list[Path]:
    """Return all agents of launchd and units of ours in the home, links to these included."""
    home = Path(os.environ["HOME"])
    agents = (home / "Library" / "LaunchAgents").glob("*")
    return sorted((*agents, *(home / ".config" / "systemd" / "user").rglob("tracekit*")))


if __name__ == "__main__":
    place = Path(sys.argv[0])
    status, answer_text = Fakes(place.parent).answer(place.name, *sys.argv[1:])
    (sys.stderr if status else sys.stdout).write(answer_text + "\n")
    sys.exit(status)
