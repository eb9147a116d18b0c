"""Whether a job can start at all, found out before the first night."""

import subprocess

from tracekit.base.errors import ToolError
from tracekit.nightly.schedule.job import Job

_SECONDS = 120.0
_QUOTED_LINES = 6


def rehearse(job: Job) -> None:
    """Start tracekit as the scheduler will, with nothing but the job's environment.

    Raises:
        ToolError: It cannot be started so; its own words say why.
    """
    argv = (*job.argv[:4], "--version")
    try:
        done = subprocess.run(
            argv,
            cwd=job.folder,
            env=job.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"{argv[0]} cannot be started as a night would be: {error}.") from error
    if done.returncode != 0:
        said = "\n".join(done.stderr.strip().splitlines()[-_QUOTED_LINES:])
        raise ToolError(
            f"tracekit does not start in the bare environment of a night:\n{said}",
            hint=f"Install tracekit into the environment of {argv[0]}.",
        )
