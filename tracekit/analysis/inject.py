"""The signature is the declaration: rules and metrics get the tables and values that they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

from tracekit.base import Provenance, TracekitError, UsageError
from tracekit.tables import losses

if TYPE_CHECKING:
    import pandas as pd

_OF_WORKLOADS = "host-"  # prefix of the schemas that workloads and the host recorder write
_OF_GPUS = ("metal", "gpu", "graphics")  # prefixes of schemas that only a GPU's recorder writes
_MARKS = frozenset({"phases", "steps"})  # the tables that each workload fills
_MONITORED = "gauges"  # the one table of a workload that a monitor of any program's machine fills
_OF_CAPTURES = "capture-"  # prefix of the schemas of GPU frame captures
_COUNTED = "counter"  # part of the names of the schemas that a counter set fills


class Remedy(StrEnum):
    """A change to the next recording that brings a missing answer; empty if none is known."""

    UNKNOWN = ""
    COUNTERS = "counters"
    LONGER = "longer"
    MONITOR = "monitor"
    TARGET = "target"
    TRACE = "trace"


class Unavailable(Exception):  # noqa: N818  it is an answer, not an error
    """A metric or a rule has no answer; the message gives the reason, and often a remedy.

    `remedy` is the same remedy as data, of which `command_for` makes a command.
    """

    def __init__(self, reason: str, remedy: Remedy = Remedy.UNKNOWN) -> None:
        """Take the reason, a clause that ends with a full stop."""
        super().__init__(reason)
        self.remedy = remedy


class NotApplicable(Unavailable):
    """The question has no sense for this work, whatever is recorded of it."""


def asked_tables(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of all tables that the function uses, required or optional."""
    return tuple(name for name, _ in _tables(function))


def thresholds(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the thresholds that a user may set, with their defaults."""
    return {
        name: parameter.default
        for name, parameter in _parameters(function).items()
        if parameter.default is not inspect.Parameter.empty
    }


def inject(
    function: Callable[..., Any],
    tables: Mapping[str, pd.DataFrame],
    settings: Mapping[str, Any] | None = None,
) -> Any:
    """Call the function with the tables that it names and the user's thresholds.

    A parameter of type `DataFrame | None` is None if the table is missing or cannot be derived, and
    one of type `Loop | Unavailable` is the reason. A parameter of type DataFrame raises
    Unavailable, with the reason that the tables give. Both raise it for a table that is unreadable
    or ambiguous, or that lacks rows. A function that asks for `losses` judges the damage itself,
    and so gets the remaining rows of such a table, or None.
    """
    arguments: dict[str, Any] = {}
    judges_damage = losses.LOSSES in asked_tables(function)
    explain_loss: Callable[[str], str] = getattr(tables, "lost", lambda _: "")  # only in `Given`
    for name, optional in _tables(function):
        if not judges_damage and (reason := explain_loss(name)):
            raise Unavailable(reason)
        arguments[name] = None
        try:
            arguments[name] = tables[name]
        except KeyError as missing:
            if missing.args != (name,) and not isinstance(missing, TracekitError):
                raise  # the function that makes the table is broken
            if not optional:
                raise explain_absence(name, tables) from missing
        except Unavailable as reason:
            if not optional:
                raise
            arguments[name] = _choose_absence(function, name, reason)
        except TracekitError as unreadable:
            if not (judges_damage and optional):
                raise Unavailable(str(unreadable)) from unreadable
    return function(**arguments, **_check_settings(function, settings or {}))


def _check_settings(function: Callable[..., Any], settings: Mapping[str, Any]) -> Mapping[str, Any]:
    known_thresholds = set(thresholds(function))
    unknown = sorted(set(settings) - known_thresholds)
    if unknown:
        threshold_names = ", ".join(thresholds(function)) or "none"
        raise UsageError(
            f"There is no threshold {unknown[0]!r}.", hint=f"There are: {threshold_names}."
        )
    return settings


@lru_cache(maxsize=512)
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function, eval_str=True).parameters


@lru_cache(maxsize=512)
def _tables(function: Callable[..., Any]) -> tuple[tuple[str, bool], ...]:
    """Return the names of the tables that a function uses, and whether each is optional."""
    return tuple(
        (name, not {type(None), Unavailable}.isdisjoint(get_args(parameter.annotation)))
        for name, parameter in _parameters(function).items()
        if parameter.default is inspect.Parameter.empty
    )


def _choose_absence(
    function: Callable[..., Any], name: str, reason: Unavailable
) -> Unavailable | None:
    """Return the argument of a parameter whose value cannot be derived."""
    if Unavailable in get_args(_parameters(function)[name].annotation):
        return reason
    return None


ON_THE_CPU = (
    "the work ran on the CPU; only a recording of xctrace, on a Mac, shows the work of a GPU."
)

_UNTOLD_ON_THE_CPU = (
    "only a workload of tracekit tells of its work on the CPU, and only a recording of xctrace, on "
    "a Mac, shows the work of a GPU."
)


_WITHOUT_GPU_WORK = {
    "cpu_profile": "the recording has samples of CPU time, and no GPU work.",
    "cycle_profile": "the recording has samples of CPU time, and no GPU work.",
    "replay_counters": "the recording has the counters of a replay, and no times of GPU work.",
    "dispatches": "a GPU frame capture has no times of GPU work.",
}
"""The reason why a recording with one of these tables has nothing of a GPU's recorder."""


def explain_absence(name: str, tables: Mapping[str, Any]) -> Unavailable:
    """Return why the recording has no such table, and which recorder would have to record it.

    The answer is `NotApplicable` if no recording of this work would have the table.
    """
    from tracekit.tables import SCHEMAS, schemas  # noqa: PLC0415  not for a name from this module

    sources = schemas.origins(SCHEMAS[name]).split(" or ") if name in SCHEMAS else ["nowhere"]
    traced = [source for source in sources if not source.startswith(_OF_WORKLOADS)]
    missing = f"the recording has no table {name}"
    if not traced:
        return _explain_untold(name, missing, tables)
    if all(source.startswith(_OF_CAPTURES) for source in traced):
        return NotApplicable(f"{missing}: only a GPU frame capture holds it.")
    reason = f"{missing}, which comes from {' or '.join(traced)}."
    if not all(source.startswith(_OF_GPUS) for source in traced):
        return Unavailable(reason)
    inapplicable = _find_lack_of_gpu_work(tables)
    if inapplicable:
        return NotApplicable(inapplicable)
    is_counted = all(_COUNTED in source for source in traced)
    return Unavailable(reason, Remedy.COUNTERS if is_counted else Remedy.TRACE)


def _explain_untold(name: str, missing: str, tables: Mapping[str, Any]) -> Unavailable:
    """Return why there is no table that only a workload, or a monitor, fills."""
    reason = f"{missing}: the program tells nothing of the kind, as a workload of tracekit does."
    if name == _MONITORED:
        return Unavailable(reason, Remedy.MONITOR)
    provenance = _provenance_of(tables)
    is_of_workload = provenance.workload and provenance.recorder != "import"
    if name in _MARKS and is_of_workload:
        return Unavailable(reason)
    return NotApplicable(reason)


def _find_lack_of_gpu_work(tables: Mapping[str, Any]) -> str:
    """Return why a recording has nothing of a GPU's recorder; "" if it could have it."""
    provenance = _provenance_of(tables)
    if provenance.recorder == "host" and not provenance.workload:
        return _UNTOLD_ON_THE_CPU
    if provenance.recorder == "host" or _ran_on_a_cpu(tables):
        return ON_THE_CPU
    if "gpu_intervals" in tables:
        return ""
    return next((reason for name, reason in _WITHOUT_GPU_WORK.items() if name in tables), "")


def _provenance_of(tables: Mapping[str, Any]) -> Provenance:
    return tables.get("provenance") or Provenance()


def _ran_on_a_cpu(tables: Mapping[str, pd.DataFrame]) -> bool:
    try:
        return bool((tables["gpu_intervals"]["clock"] == "host").any())
    except (KeyError, TracekitError, Unavailable):
        return False
