"""What must hold before anything is measured: right results, and the checks of the plan."""

from pathlib import Path

import msgspec

from tracekit.base.errors import RecordingError
from tracekit.lab.parity import VERSION
from tracekit.nightly.session.errors import ParityError
from tracekit.nightly.session.prepared import Prepared
from tracekit.nightly.session.program import Program, ending, last_words, run

OF_ATTENTION = frozenset({"paged", "sdpa", "flash", "paged-vs-sdpa", "serve", "kv-cache"})
"""Workloads whose code `tracekit parity` checks."""
_LIMIT = 3600.0  # seconds of one check
_BREACH = 1  # how `tracekit parity` ends where a bound is exceeded


class _Told(msgspec.Struct):
    """What of parity's document is read."""

    version: int
    outcomes: list[msgspec.Raw]
    breaches: int
    repeat: str | None = None


def check(prepared: Prepared, *, deadline: float | None = None) -> str:
    """Check what the capture asks for, with the candidate's interpreter and code.

    Parity runs once a night: captures after the first take its result, which lies in the night's
    folder. Checks of the plan run for each capture. What they say is kept in its folder.

    Returns:
        What was checked, in a sentence; empty where nothing was.

    Raises:
        ParityError: Something does not hold.
        ToolError: A check cannot be started, or did not end in time.
        BudgetSpentError: The night's time is spent.
    """
    said = [_parity(prepared, grid, deadline)] if (grid := grid_of(prepared)) else []
    for number, argv in enumerate(prepared.capture.checks, start=1):
        _plan_check(prepared, argv, number, deadline)
        said.append(f"{argv[0]} succeeded")
    words = "; ".join(said)
    return f"{words[0].upper()}{words[1:]}." if words else ""


def grid_of(prepared: Prepared) -> str:
    """Return which grid of parity is checked: quick, full, or empty for none."""
    asked = prepared.capture.parity
    if asked == "auto":
        works = {one.workload for one in prepared.sides}
        return "quick" if works & OF_ATTENTION else ""
    return "" if asked == "off" else asked


def _parity(prepared: Prepared, grid: str, deadline: float | None) -> str:
    output = prepared.folder / f"parity-{grid}.json"
    told = _read(output) if output.exists() else None
    if told is None or told.breaches:
        quick = ("--quick",) if grid == "quick" else ()
        argv = (str(prepared.candidate.python), "-P", "-m", "tracekit", "parity", *quick, "--json")
        side, log = prepared.candidate, prepared.log_of("parity")
        program = Program(argv, side.env, side.cwd, log, output)
        status = run(program, prepared.guardian, _LIMIT, deadline)
        told = _read(output) if status in {0, _BREACH} else None
        if told is None or (status == _BREACH) != bool(told.breaches):
            raise ParityError(
                f"tracekit parity could not be run: it ended with {ending(status)}."
                f"{last_words(log)}"
            )
        if told.breaches:
            raise ParityError(
                f"Parity failed: {told.breaches} of {len(told.outcomes)} results exceed their "
                "bound, so that times would say nothing.",
                hint=f"Repeat it: {told.repeat}." if told.repeat else "",
            )
    return f"parity holds in all {len(told.outcomes)} results of the {grid} grid"


def _read(output: Path) -> _Told | None:
    try:
        told = msgspec.json.decode(output.read_bytes(), type=_Told)
    except msgspec.MsgspecError:
        return None
    except OSError as error:
        raise RecordingError(f"{output} cannot be read: {error.strerror}.") from error
    return told if told.version <= VERSION else None


def _plan_check(
    prepared: Prepared, argv: tuple[str, ...], number: int, deadline: float | None
) -> None:
    side, log = prepared.candidate, prepared.log_of(f"check-{number}")
    program = Program(argv, side.env, side.cwd, log)
    status = run(program, prepared.guardian, _LIMIT, deadline)
    if status != 0:
        raise ParityError(
            f"The check {program.line} ended with {ending(status)}.{last_words(log)}",
            hint=f"All that it said is in {log}.",
        )
