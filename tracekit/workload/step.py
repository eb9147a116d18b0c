"""A step: what a recorder has repeated and measures, and what it says of itself."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tracekit.base.errors import InputError
from tracekit.workload.told import Measured, Told, Work

# What `submit` hands to `wait`: arrays of MLX, or whatever the workload's device speaks of.
Submitted = Any

Results = Mapping[str, float | Measured]


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Step:
    """What is repeated and measured.

    Attributes:
        submit: Build the work and hand it to the device, without waiting for it.
        wait: Block until what `submit` returned is complete.
        backend: Where the work runs: "metal", "cpu", or "gpu" for another device of MLX's.
        tokens: Tokens that one step produces; 0 where the word has no meaning.
        bytes_read: Bytes that one step must read, counting every access.
        bytes_unique: Bytes that one step must read from memory, each one counted once.
        bytes_written: Bytes that one step writes.
        flops: Floating-point operations of one step.
        dispatches: GPU dispatches to expect in one step; None where it is not known.
        specializations: Names of the pipelines that the workload has made so far.
        results: What else the workload measured while it was prepared, such as its error.
        variants: What a step of each variant does, where steps are of several that are compared;
            the numbers above then say nothing.
        tell: Called when a step is complete: what that step was. The time it takes is no step's.
        begin: Called when the steady phase begins, as for a schedule to start.
        exhausted: Whether there is nothing left to do, though there is time.
        finish: Called when the steady phase is over: what the workload measured in it.
        leave: Called after that: what is still to be told, such as requests that are not complete.
    """

    submit: Callable[[], Submitted]
    wait: Callable[[Submitted], None]
    backend: str
    tokens: int = 0
    bytes_read: int = 0
    bytes_unique: int = 0
    bytes_written: int = 0
    flops: int = 0
    dispatches: int | None = None
    specializations: Callable[[], frozenset[str]] = frozenset
    results: Results = field(default_factory=dict[str, float | Measured])
    variants: Mapping[str, Work] = field(default_factory=dict[str, Work])
    tell: Callable[[], Told] | None = None
    begin: Callable[[], None] = _nothing
    exhausted: Callable[[], bool] = bool
    finish: Callable[[], Results] = dict[str, float | Measured]
    leave: Callable[[], Told] = Told

    def __post_init__(self) -> None:
        """Refuse what no account could hold."""
        for name in (
            "tokens",
            "bytes_read",
            "bytes_unique",
            "bytes_written",
            "flops",
            "dispatches",
        ):
            value: Any = getattr(self, name)
            if value is None and name == "dispatches":
                continue
            if not isinstance(value, int) or not 0 <= value < 2**64:
                raise InputError(
                    f"The {name} of a step must be a whole number of at least 0; it is {value!r}."
                )
        measured(self.results)


def measured(results: Results) -> dict[str, Measured]:
    """Give plain numbers among results the form of the others.

    Raises:
        InputError: A value is no number.
    """
    return {name: _measured(name, value) for name, value in results.items()}


def _measured(name: str, value: Any) -> Measured:
    one = value if isinstance(value, Measured) else Measured(value)
    if not isinstance(one.value, int | float) and not (one.value is None and one.reason):
        raise InputError(f"The result {name!r} of a step must be a number; it is {value!r}.")
    if one.value is not None and not math.isfinite(one.value):
        return replace(one, value=None, reason=f"it is {one.value}")
    return one
