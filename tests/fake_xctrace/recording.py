"""`xctrace record`: one recording, from its first line to its exit code."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import IO, Any

import importing
import texts
from arguments import Arguments, RefusalError, check, parse
from bundles import write_bundle
from chips import choose_counters
from gpu import choose_rows, read_jobs
from scenario import Scenario

TARGET_FAILED = 54
_STUCK = Path(tempfile.gettempdir()) / "fake-service-stuck"
_TICK = 0.01
_CLOSE = 100_000  # ns


def record(options: list[str], scenario: Scenario) -> int:
    try:
        arguments = parse(options, scenario.version)
        check(arguments, scenario)
    except RefusalError as refusal:
        code, text = refusal.args
        sys.stderr.write(f"{text}\n")
        return code
    return Recording(arguments, scenario).run()


class Recording:
    """One recording: its target, its bundle, what it says and how it ends."""

    def __init__(self, arguments: Arguments, scenario: Scenario) -> None:
        self.arguments = arguments
        self.scenario = scenario
        self.limit, _ = arguments.limit
        self.interrupted = False
        self.locked_out = False
        self.child: subprocess.Popen[bytes] | None = None
        self.bundle = Path(arguments.values["--output"]).absolute()
        self.issues = [tuple(issue) for issue in scenario.get("issues", [])]
        self.begun = time.time()
        self.chip = scenario.get("chip", "M1")
        self.counters = choose_counters(
            self.chip,
            arguments.values.get("--template", ""),
            arguments.instruments,
            scenario.get("profiles"),
        )
        if self.counters.issue:
            self.issues.append(("Warning", self.counters.issue))

    def run(self) -> int:
        signal.signal(signal.SIGINT, self._interrupt)
        # A handler, not SIG_IGN, which the program that is launched would inherit.
        signal.signal(signal.SIGTERM, lambda *_: None)
        self._say(self._announcement())
        self._die_at("start")
        self._ask_for_permission()
        self._hang_at("announced")
        self._take("start_delay")
        if self.interrupted:
            self._stick()
        if self.scenario.get("prompts") and not self.arguments.no_prompt:
            sys.stdin.readline()
        lock = self._lock()
        self._begin()
        stop_line, reason = self._wait()
        self._say(stop_line)
        self._take("stop_delay", uninterruptible=True)
        code = self._end_child()
        self._complain()
        failed = any(severity == "Error" for severity, _ in self.issues)
        self._say(texts.FAILED if failed else texts.COMPLETED)
        self._save(reason)
        lock.close()
        return 2 if failed else code

    def _announcement(self) -> str:
        instrument_texts = [f"{name} Instrument" for name in self.arguments.instruments]
        texts_of_both = [f"the {self.arguments.template} template", *instrument_texts]
        if instrument_texts and self.scenario.version.is_27 and not self._has_template:
            texts_of_both = ["the " + " and ".join(instrument_texts)]
        template_text = " and ".join(texts_of_both)
        if self.arguments.command:
            target = f"Launching process: {Path(self.arguments.command[0]).name}."
        elif self.arguments.all_processes:
            target = "Recording all processes."  # the wording is not on record
        else:
            pid = self.arguments.attach
            target = f"Attaching to: {_name_of(int(pid))} ({pid})."
        return f"Starting recording with {template_text}. {target}{self.arguments.limit[1]}"

    @property
    def _has_template(self) -> bool:
        return "--template" in self.arguments.values

    def _ask_for_permission(self) -> None:
        """Wait for the name and password of an administrator, which no one gives."""
        if not self.scenario.get("dialog"):
            return
        sys.stderr.write(f"{texts.DIALOG}\nUsername (me):\n")
        sys.stderr.flush()
        while not self.interrupted:
            time.sleep(_TICK)
        self._stick()
        sys.exit(2)

    def _take(self, delay_key: str, *, uninterruptible: bool = False) -> None:
        """Let time pass; SIGINT cuts it short unless it is to be taken whole."""
        delay = self.scenario.get(delay_key, 0)
        if isinstance(delay, dict):
            is_due = self.scenario.is_due(delay_key, delay["times"])
            delay = delay["seconds"] if is_due else 0
        end = time.monotonic() + delay
        while time.monotonic() < end and (uninterruptible or not self.interrupted):
            time.sleep(_TICK)

    def _lock(self) -> IO[str]:
        """Take the machine-wide lock; a second recorder gets the error that the real one gets."""
        path = Path(tempfile.gettempdir()) / f"fake-kperf-{os.getuid()}.lock"
        handle = path.open("w")
        locked = self.scenario.get("locked")
        if (locked and self.scenario.is_due("locked", locked)) or not _try_lock(handle):
            text = "_lockKPerf: could not lock kperf. Likely another session just started."
            self.issues.append(("Error", text))
            self.locked_out = True
        return handle

    def _begin(self) -> None:
        (self.bundle / "corespace").mkdir(parents=True)
        (self.bundle / "corespace" / "raw").write_bytes(bytes(4096))
        staging = Path(tempfile.gettempdir()) / f"instruments{os.getpid()}.ktrace"
        if self.scenario.get("leaves_staging"):
            staging.write_bytes(bytes(1_000_000))
        # On a busy machine, a program may have ended before its recorder runs again.
        self.started, self.origin = _read_clocks()
        if self.arguments.command:
            self.child = self._launch()
        if self.scenario.get("attach") == "stops" and self.arguments.attach:
            os.kill(int(self.arguments.attach), signal.SIGSTOP)
        importing.write_raw_data(self.bundle, self._describe("", 0.5), self.scenario)
        self._post()
        if not self.scenario.get("silent_start"):
            self._say(texts.CTRL_C)
        if self.scenario.get("noise"):
            sys.stderr.write(f"{'noise ' * 20}\n" * (self.scenario.get("noise") // 121))

    def _post(self) -> None:
        name = self.arguments.values.get("--notify-tracing-started")
        if name and self.scenario.get("notifies", True):
            (Path(tempfile.gettempdir()) / f"fake-posted-{name}").touch()

    def _stick(self) -> None:
        """Leave the service stuck, as a recorder does that is stopped while it starts."""
        _STUCK.touch()

    def _is_stuck(self) -> bool:
        """Return whether the service has not rested since the recorder before this one."""
        rest = self.scenario.get("stuck_for")
        if not rest or not _STUCK.exists():
            return False
        return self.begun - _STUCK.stat().st_mtime < rest

    def _launch(self) -> subprocess.Popen[bytes]:
        output = self.arguments.values.get("--target-stdout", os.devnull)
        with Path(output).open("wb") as stdout:
            program = subprocess.Popen(
                self.arguments.command,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        if self.scenario.get("asleep"):
            program.send_signal(signal.SIGSTOP)
        return program

    def _environment(self) -> dict[str, str]:
        """Return the environment of a launched program; whether it inherits any is not certain."""
        inherited = {"PATH": "/usr/bin:/bin"}
        if self.scenario.get("inherits"):
            inherited = dict(os.environ)
        return inherited | self.arguments.env

    def _wait(self) -> tuple[str, str]:
        """Record until something ends it; return the stop line and the TOC's end reason."""
        end = None
        if self.limit is not None and not self.scenario.get("ignores_limit"):
            end = time.monotonic() + self.limit
        while True:
            if self.interrupted or self.locked_out:
                return texts.STOPPING, "User stopped recording"
            if self.child is not None and self.child.poll() is not None:
                return texts.TARGET_EXITED, "Target app exited"
            if self.scenario.get("notices_end") and not self._runs_still():
                return texts.TARGET_EXITED, "Target app exited"
            if end is not None and time.monotonic() >= end:
                return texts.LIMIT_REACHED, "Time limit reached"
            time.sleep(_TICK)

    def _runs_still(self) -> bool:
        """Return whether an attached process runs; xctrace's answer to its end is not on record."""
        attached = self.arguments.attach
        return not attached or _is_alive(int(attached))

    def _end_child(self) -> int:
        if self.child is None:
            return 0
        if self.child.poll() is None:
            if self.scenario.get("leaves_target"):
                return TARGET_FAILED
            self.child.kill()
        return TARGET_FAILED if self.child.wait() else 0

    def _complain(self) -> None:
        if not self.issues:
            return
        lines = [texts.ISSUES]
        for severity, text in self.issues:
            first_line, *nested = text.split("\n")
            lines += [f"* [{severity}] {first_line}", ""]
            lines += [f"\t* [{severity}] {line}" for line in nested]
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()

    def _save(self, reason: str) -> None:
        self._die_at("saving")
        self._hang_at("saving")
        time.sleep(self.scenario.get("save_pause", 0))
        for _ in range(int(self.scenario.get("save_delay", 0) / _TICK)):
            time.sleep(_TICK)
            with (self.bundle / "corespace" / "raw").open("ab") as raw:
                raw.write(bytes(1000))
        self._write_document(reason)
        self._say(f"Output file saved as: {self.bundle.name}")
        self._hang_at("saved")

    def _write_document(self, reason: str) -> None:
        duration = (datetime.now().astimezone() - self.started).total_seconds()
        state = self._describe(reason, duration)
        if any(severity == "Error" for severity, _ in self.issues):
            state |= {"target": None, "duration": 0.0}
        write_bundle(self.bundle, state, self.scenario.get("layout", "real"))

    def _describe(self, reason: str, duration: float) -> dict[str, Any]:
        """Return the recording as it is now: what its bundle holds, and its exports have."""
        way = "launch" if self.arguments.command else "attach"
        rows = choose_rows(self.scenario.get("rows", {}), way)
        jobs = read_jobs(self.origin, time.monotonic_ns(), rows=rows)
        started = self.started.isoformat(timespec="milliseconds")
        counter_set = self.scenario.get("counter_set", self.counters.counter_set)
        counters = list(self.counters.names)
        if counter_set != self.counters.counter_set:  # the scenario has another one
            counters = [] if counter_set == "(null)" else ["ALU Limiter"]
        return {
            "build": self.scenario.version.build,
            "whole": self.scenario.get("tables") == "all",
            "chip": self.chip,
            "clock_ramp": self.scenario.get("clock_ramp", 0),
            "template": self.arguments.template,
            "instruments": self.arguments.instruments,
            "limit": self.limit,
            "started": self.scenario.get("start_date", started),
            "ended": datetime.now().astimezone().isoformat(timespec="milliseconds"),
            "duration": duration,
            "reason": reason,
            "target": self._target(),
            "counter_set": counter_set,
            "counters": counters,
            "shader_timeline": self.counters.has_shader_timeline,
            "origin": self.origin,
            "epoch": int(self.started.timestamp() * 1e9),
            "jobs": {str(pid): pairs for pid, pairs in jobs.items()},
            "names": {},
            "busy": bool(self.scenario.get("busy")) and not rows,
            "empty": bool(rows.get("empty")) or self._is_stuck(),
        }

    def _target(self) -> dict[str, object]:
        if self.arguments.all_processes:
            return {"type": "all-processes", "pid": 0, "name": "kernel"}
        if self.child is None:
            pid = int(self.arguments.attach)
            return {"type": "attached", "pid": pid, "name": _name_of(pid)}
        code, name = self.child.poll() or 0, Path(self.arguments.command[0]).name
        exit_reason = f"exit({code})" if code >= 0 else signal.Signals(-code).name
        launch_facts = {"type": "launched", "pid": self.child.pid, "name": name}
        return {**launch_facts, "status": abs(code), "why": exit_reason}

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.interrupted = True

    def _die_at(self, moment: str) -> None:
        die = self.scenario.get("die")
        if not die or die["at"] != moment or not self.scenario.is_due("die", die.get("times")):
            return
        if self.child is not None:
            self.child.kill()
        if "text" in die:
            sys.stderr.write(f"{die['text']}\n")
            sys.stderr.flush()
        os._exit(die["code"])

    def _hang_at(self, moment: str) -> None:
        while self.scenario.get("hang") == moment:
            time.sleep(_TICK)

    def _say(self, line: str) -> None:
        """Print a line, in another language if the scenario has one."""
        text = texts.translate(line) if self.scenario.get("language") == "de" else line
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
        self.scenario.note(line)


def _read_clocks() -> tuple[datetime, int]:
    """Return one moment on the wall's clock and on the monotonic one, however busy the machine."""
    while True:
        before = time.monotonic_ns()
        moment = datetime.now().astimezone()
        if time.monotonic_ns() - before < _CLOSE:
            return moment, before


def _try_lock(handle: IO[str]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "unknown"
