"""A program that tracekit starts itself, and that xctrace attaches to some time after its start."""

import os
import signal
from dataclasses import dataclass

from tracekit.base import Recording, ToolError, processes, system
from tracekit.record.progress import Progress
from tracekit.record.recorder import Attach, Delayed, start_error
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.attached_worker import errors_file
from tracekit.record.xctrace.command import own_environment
from tracekit.record.xctrace.command_line import RecordedSubject, absolute

_POLICY = processes.StopPolicy(((signal.SIGTERM, 20.0), (system.SIGKILL, 5.0)))


@dataclass
class AttachedProgram:
    """One program, from its start until its recording is saved."""

    target: Delayed
    recording: Recording
    supervisor: Supervisor
    progress: Progress
    _child: processes.Child | None = None

    def ready(self) -> RecordedSubject:
        """Return the program, which has run for as long as it was to; start it at first.

        Raise ToolError if it cannot be started, or ends before.
        """
        if self._child is None:
            self._child = self._start()
            self.progress(f"letting the program run for {self.target.after:g} s, outside the trace")
            self._child.wait(self.target.after)
        child = self._child
        if child.exit_status is not None:
            raise ToolError(
                f"Nothing was recorded: the program ended with "
                f"{processes.exit_words(child.exit_status)} "
                f"within {self.target.after:g} s.",
                hint="Give a shorter --after.",
            )
        return RecordedSubject(Attach(child.pid), finished=lambda: child.exit_status is not None)

    def _start(self) -> processes.Child:
        launch = self.target.launch
        argv = absolute(launch.argv, os.environ)
        env = own_environment(launch.env)
        output = self.recording.target_output_file
        try:
            with output.open("ab") as stdout, errors_file(self.recording).open("ab") as stderr:
                return self.supervisor.start(
                    argv, _POLICY, env=env, stdout=stdout, stderr=stderr, stdin=launch.stdin
                )
        except OSError as error:
            raise start_error(argv, error) from error

    def close(self) -> None:
        """Stop the program, which xctrace leaves running."""
        if self._child is not None:
            self._child.note_descendants()
            self._child.stop()
            self._child.clean_up()
