"""A panel: one section of the page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracekit.analysis.result import Result

Tables = Mapping[str, pd.DataFrame]
Context = Mapping[str, Any]


@dataclass(frozen=True)
class Panel:
    """One section of the page.

    Attributes:
        name: Its id on the page, and the stem of its template.
        title: Its heading.
        context: Makes what the template shows; a pure function of a result and its tables. None
            leaves the section out: it is for panels that make sense of some runs only.
        reads: The tables that it shows rows of, besides those of metrics and rules.
    """

    name: str
    title: str
    context: Callable[[Result, Tables], Context | None]
    reads: tuple[str, ...] = ()

    @property
    def template(self) -> str:
        """The file of its template, in templates/report."""
        return f"{self.name}.html"
