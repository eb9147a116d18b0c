"""The child process of interleaved runs: a warmed-up workload, stepped on request.

`python -P -m tracekit.workload.interleaved` takes requests on standard input and answers on
standard output, a line of JSON each; see `tracekit.workload.interleaved.protocol`.
"""

from pathlib import Path

import lazy_loader

from tracekit.base import programs


def resident_command(python: Path) -> tuple[str, ...]:
    """Return the command line that starts the child in an interpreter."""
    return programs.module_command(python, "tracekit.workload.interleaved")


__getattr__, __dir__, _ = lazy_loader.attach(__name__, submodules=["protocol"])
