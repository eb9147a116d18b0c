"""`xctrace record`: one recording, from its first line to its exit code."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import IO, Any

import documents
import importing
import texts
from arguments import Arguments, RefusalError, check, parse
from scenario import Scenario

TARGET_FAILED = 54
_STUCK = Path(tempfile.gettempdir()) / "fake-service-stuck"
_TICK = 0.01
_CLOSE = 100_000  # ns


def record(options: list[str], scenario: Scenario) -> int:
    try:
        arguments = parse(options)
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

    def run(self) -> int:
        signal.signal(signal.SIGINT, self._interrupt)
        # A handler, not SIG_IGN, which the program that is launched would inherit.
        signal.signal(signal.SIGTERM, lambda *_: None)
        self._say(self._announcement())
        self._die_at("start")
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
        template_text = f"the {self.arguments.template} template"
        if self.arguments.instruments:
            template_text += "".join(
                f" and {name} Instrument" for name in self.arguments.instruments
            )
        if self.arguments.command:
            target = f"Launching process: {Path(self.arguments.command[0]).name}."
        else:
            pid = self.arguments.attach
            target = f"Attaching to: {_name_of(int(pid))} ({pid})."
        return f"Starting recording with {template_text}. {target}{self.arguments.limit[1]}"

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
        if self.arguments.command:
            self.child = self._launch()
        self.started, self.origin = _read_clocks()
        importing.write_raw_data(self.bundle, importing.state_of(self), self.scenario)
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
                env={"PATH": "/usr/bin:/bin"} | self.arguments.env,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        if self.scenario.get("asleep"):
            program.send_signal(signal.SIGSTOP)
        return program

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
            if end is not None and time.monotonic() >= end:
                return texts.LIMIT_REACHED, "Time limit reached"
            time.sleep(_TICK)

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
        for _ in range(int(self.scenario.get("save_delay", 0) / _TICK)):
            time.sleep(_TICK)
            with (self.bundle / "corespace" / "raw").open("ab") as raw:
                raw.write(bytes(1000))
        self._write_document(reason)
        self._say(f"Output file saved as: {self.bundle.name}")
        self._hang_at("saved")

    def _write_document(self, reason: str) -> None:
        end_time = datetime.now().astimezone()
        failed = any(severity == "Error" for severity, _ in self.issues)
        has_counters = "Metal GPU Counters" in self.arguments.instruments
        by_default = "Performance Limiters" if has_counters else "(null)"
        counter_set = self.scenario.get("counter_set", by_default)
        started = self.started.isoformat(timespec="milliseconds")
        state = {
            "template": self.arguments.template,
            "instruments": self.arguments.instruments,
            "limit": self.limit,
            "started": self.scenario.get("start_date", started),
            "ended": end_time.isoformat(timespec="milliseconds"),
            "duration": 0.0 if failed else (end_time - self.started).total_seconds(),
            "reason": reason,
            "target": None if failed else self._target(),
            "version": "26.0 (17C529)",
            "counter_set": counter_set,
            "counter_rows": counter_set != "(null)",
            "jobs": self._jobs(),
        }
        if self.scenario.get("packages"):
            _write_real_bundle(self.bundle, state, self.scenario.get("packages"))
            return
        (self.bundle / "form.template").write_text(json.dumps(state))

    def _target(self) -> dict[str, object]:
        if self.child is None:
            pid = int(self.arguments.attach)
            return {"type": "attached", "pid": pid, "name": _name_of(pid)}
        code, name = self.child.poll() or 0, Path(self.arguments.command[0]).name
        exit_reason = f"exit({code})" if code >= 0 else signal.Signals(-code).name
        launch_facts = {"type": "launched", "pid": self.child.pid, "name": name}
        return {**launch_facts, "status": abs(code), "why": exit_reason}

    def _jobs(self) -> list[list[int]] | None:
        """Return the starts and ends of the target's jobs on the GPU, in ns of the trace.

        A workload of tests that plays a GPU writes them; None lets them go by the clock.
        """
        way = "launch" if self.arguments.command else "attach"
        wishes = self.scenario.get("rows", {})
        wishes = wishes.get(way, wishes)
        target = self._target()
        file = Path(tempfile.gettempdir()) / "fake-gpu" / str(target["pid"])
        if self._is_stuck():
            return []
        if not file.exists():
            return [] if wishes else None
        marks = [line.split() for line in file.read_text().splitlines()]
        jobs = [[int(start) - self.origin, int(end) - self.origin] for start, end in marks]
        jobs = [job for job in jobs if job[0] >= 0]
        share = wishes.get("share", 1)
        kept = [job for at, job in enumerate(jobs) if int((at + 1) * share) > int(at * share)]
        return kept[: wishes.get("most", len(kept))]

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.interrupted = True

    def _die_at(self, moment: str) -> None:
        die = self.scenario.get("die")
        if not die or die["at"] != moment or not self.scenario.is_due("die", die.get("times")):
            return
        if self.child is not None:
            self.child.kill()
        os._exit(die["code"])

    def _hang_at(self, moment: str) -> None:
        while self.scenario.get("hang") == moment:
            time.sleep(_TICK)

    def _say(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")
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


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "unknown"


def _write_real_bundle(bundle: Path, state: dict[str, Any], packages: list[str]) -> None:
    """Write what is exported as a bundle of the real layout, by the tests' writer of bundles."""
    sys.path += packages
    from bundle_writer import write_bundle  # noqa: PLC0415  the path is made above
    from bundle_writer.from_exports import tables_of_exports  # noqa: PLC0415

    with tempfile.TemporaryDirectory(dir=bundle.parent) as folder:
        exports, new_bundle = Path(folder) / "exports", Path(folder) / "made.trace"
        exports.mkdir()
        (exports / "toc.xml").write_text(documents.toc(state))
        for schema in documents.COLUMNS:
            text = documents.table(state, schema, 1)
            (exports / f"{schema}.xml").write_text(text or "")
        converted = tables_of_exports(exports)
        write_bundle(new_bundle, converted.tables, info=converted.info)
        shutil.rmtree(bundle)
        new_bundle.rename(bundle)
    (bundle / "state.json").write_text(json.dumps(state))
