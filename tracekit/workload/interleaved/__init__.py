"""The child process of interleaved runs: a warmed-up workload, stepped on request.

`python -P -m tracekit.workload.interleaved` takes requests on standard input and answers on
standard output, a line of JSON each; see `tracekit.workload.interleaved.protocol`.
"""

from pathlib import Path

from tracekit.base import module_command


def resident_command(python: Path) -> tuple[str, ...]:
    """Return the command line that starts the child in an interpreter."""
    return module_command(python, "tracekit.workload.interleaved")
