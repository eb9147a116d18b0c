"""What is verified: something that can be launched in any order of threads, and what must come out.

Two things become subjects: a check, whose own code launches kernels, and a kernel of a file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracekit.lab.msl.kernel import Origin
from tracekit.lab.msl.statistics import Order, Statistics
from tracekit.lab.verification.comparison import Array

PATIENCE = 60.0
"""Seconds that one launch may take: kernels that never end are a defect to find, too."""


@dataclass(frozen=True)
class Source:
    """A kernel as text.

    Attributes:
        file: What messages call the text.
        function: Name of the kernel in its text.
        template: Its template arguments as text; "" for none.
        text: The text that is compiled.
        origins: In order, files that the text was put together from; none where it is one file.
        defines: Macros that the text expects, with what they stand for.
    """

    file: str
    function: str
    template: str
    text: str
    origins: tuple[Origin, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Launched:
    """One launch of a kernel, and what was counted."""

    source: Source
    statistics: Statistics


@dataclass(frozen=True, eq=False)
class Answer:
    """What came out of one run: arrays that can be computed with, and the launches."""

    arrays: tuple[Array, ...]
    launches: tuple[Launched, ...]


Launch = Callable[[Order, bool], Answer]
Sources = Callable[[], tuple[Source, ...]]


@dataclass(frozen=True, eq=False)
class Subject:
    """Something to verify.

    Attributes:
        name: What it is called in the report.
        parameters: Which case of it this is.
        launch: Runs it in an order of threads; the flag asks for bounds and bytes to be watched.
        sources: Returns the kernels that would run, without running them.
        expected: What must come out; empty where that is not known.
        bound: The largest error allowed, as a share of the largest magnitude expected.
        loaded: Bytes that must be loaded of buffers, by their names.
    """

    name: str
    parameters: Mapping[str, Any]
    launch: Launch
    sources: Sources
    expected: tuple[Array, ...] = ()
    bound: float = 0.0
    loaded: Mapping[str, int] = field(default_factory=dict[str, int])
