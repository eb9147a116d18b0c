"""Checks before a capture: the commands of the plan, and the parity of attention kernels."""

from pathlib import Path

from tracekit.base import processes
from tracekit.nightly.session.child import PreparedCapture
from tracekit.nightly.session.program import ParityError, Program, last_words, run

OF_ATTENTION = frozenset({"paged", "sdpa", "flash", "paged-vs-sdpa", "serve", "kv-cache"})
"""Workloads whose code `tracekit kernel parity` checks."""
TIME_LIMIT = 3600.0  # seconds of one check, or traced capture: saving can take many minutes


def check(prepared: PreparedCapture) -> str:
    """Run the checks that the capture asks for, with the candidate's interpreter and code.

    Parity runs once a night: later captures reuse its result from the night's folder. Return a
    sentence that lists the checks; empty if there were none.
    """
    clauses: list[str] = []
    grid = grid_of(prepared)
    if grid:
        clauses.append(_parity(prepared, grid))
    for number, argv in enumerate(prepared.capture.checks, start=1):
        _require(prepared, argv, f"check-{number}")
        clauses.append(f"{argv[0]} succeeded")
    if not clauses:
        return ""
    words = "; ".join(clauses)
    return f"{words[0].upper()}{words[1:]}."


def _require(
    prepared: PreparedCapture, argv: tuple[str, ...], name: str, output: Path | None = None
) -> None:
    """Run a program as the candidate; raise ParityError if it does not succeed."""
    variant = prepared.candidate
    log = prepared.log_of(name)
    program = Program(argv, variant.env, variant.cwd, log, output)
    status = run(program, prepared.bounds, TIME_LIMIT)
    if status != 0:
        raise ParityError(
            f"The check {program.line} ended with {processes.exit_words(status)}.{last_words(log)}",
            hint=f"Its whole output is in {log}.",
        )


def grid_of(prepared: PreparedCapture) -> str:
    """Return the grid of parity to check: quick or full; empty for none."""
    parity_choice = prepared.capture.parity
    if parity_choice == "off":
        return ""
    if parity_choice != "auto":
        return parity_choice
    if any(variant.workload in OF_ATTENTION for variant in prepared.variants):
        return "quick"
    return ""


def _parity(prepared: PreparedCapture, grid: str) -> str:
    """Check parity unless an earlier capture of the night did; return a clause that says so."""
    result_file = prepared.folder / f"parity-{grid}.json"
    if not result_file.exists():
        argv = [str(prepared.candidate.python), "-P", "-m", "tracekit", "kernel", "parity"]
        if grid == "quick":
            argv.append("--quick")
        argv.append("--json")
        failed_file = result_file.with_suffix(".failed.json")
        _require(prepared, tuple(argv), "parity", failed_file)
        failed_file.rename(result_file)
    return f"parity holds in the {grid} grid"
