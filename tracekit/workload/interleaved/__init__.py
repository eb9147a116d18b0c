"""The child process of interleaved runs: a warmed-up workload, stepped when it is asked to.

`python -P -m tracekit.workload.interleaved` takes requests on standard input and answers on
standard output, a line of JSON each; see `tracekit.workload.interleaved.protocol`.
"""

from pathlib import Path


def program(python: Path, module: str) -> tuple[str, ...]:
    """Return the command line that starts a module in an interpreter.

    It keeps the folder one stands in off the module path, as the `tracekit` program does.
    """
    return (str(python), "-P", "-X", "faulthandler", "-m", module)


def resident_command(python: Path) -> tuple[str, ...]:
    """Return the command line that starts the child in an interpreter."""
    return program(python, "tracekit.workload.interleaved")
