"""The child process that waits for its turn: a warmed-up workload, stepped when told to.

`python -P -m tracekit.workload.turns` is asked on standard input and answers on
standard output, a line of JSON each; see `tracekit.workload.turns.protocol`.
"""

from pathlib import Path


def resident_command(python: Path) -> tuple[str, ...]:
    """Return the command line that starts the child in an interpreter.

    It keeps the folder one stands in off the module path, as the `tracekit` program does.
    """
    return (str(python), "-P", "-X", "faulthandler", "-m", "tracekit.workload.turns")
