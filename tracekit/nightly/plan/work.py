"""Whether a plan's workloads are there, and take the parameters that it gives."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracekit.base.errors import InputError, UsageError
from tracekit.nightly.plan.given import Given
from tracekit.nightly.plan.mistakes import Mistakes
from tracekit.workload.plan import ANY_PROGRAM
from tracekit.workload.workload import Workload, find


def check_work(
    name: Given, parameters: Mapping[str, Given], folder: Path | None, mistakes: Mistakes
) -> None:
    """Load a workload and bind its parameters; each that does not fit is a mistake.

    A file that cannot be loaded is none of the plan's: its capture fails, and the others run.
    """
    if name.value == ANY_PROGRAM:
        words = "is any program, which cannot be measured in turns."
        mistakes.add(name.route, words, "Write a workload that does the same work.")
        return
    try:
        workload = find(name.value, folder)
    except InputError:
        return
    except UsageError as error:
        mistakes.add(name.route, f"is not fit: {error.message}", error.hint)
        return
    _check_parameters(workload, name, parameters, mistakes)


def _check_parameters(
    workload: Workload, name: Given, given: Mapping[str, Given], mistakes: Mistakes
) -> None:
    required = [key for key, one in workload.parameters.items() if one.default is one.empty]
    needed = {key: given[key].value for key in required if key in given}
    if (error := _unfit(workload, needed)) is not None:
        first = given[next(iter(needed))] if needed else name
        mistakes.add(first.route, f"is not fit: {error.message}", error.hint)
        return
    for key, one in given.items():
        if key not in needed and (error := _unfit(workload, {**needed, key: one.value})):
            mistakes.add(one.route, f"is not fit: {error.message}", error.hint)


def _unfit(workload: Workload, parameters: dict[str, Any]) -> UsageError | None:
    try:
        workload.bind(parameters)
    except UsageError as error:
        return error
    return None
