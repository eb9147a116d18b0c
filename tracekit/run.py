"""A run as a Python user sees it: its provenance, tables and result."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit import analysis
from tracekit.base import Provenance, Recording, markup
from tracekit.pipeline import analyze, load_result, tables_of

if TYPE_CHECKING:
    import pandas as pd

    from tracekit import plots
    from tracekit.analysis import Given, Result
    from tracekit.tables import Tables


class Home:
    """A temporary folder that is removed when this object is, or when the program ends."""

    def __init__(self) -> None:
        """Make the folder."""
        self.path = Path(tempfile.mkdtemp(prefix="tracekit-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class Plots:
    """The pictures of a run, with the extra `plots`: a notebook shows them, `save` writes them.

    Each raises ToolError if matplotlib is not installed, and InconclusiveError, with the reason,
    if the run lacks the data.
    """

    run: Run

    @cached_property
    def _derived_tables(self) -> Given:
        return analysis.Given(self.run.tables, self.run.provenance)

    def timeline(self, start: float | None = None, end: float | None = None) -> plots.Plot:
        """Draw the target's work on the host and on the GPU.

        `start` and `end` are ns from the start of the trace; by default the steady window.
        """
        from tracekit import plots  # noqa: PLC0415  few runs are drawn

        return plots.draw_timeline(self._derived_tables, start, end)

    def idle(self) -> plots.Plot:
        """Draw the idle time of the device, by cause."""
        from tracekit import plots  # noqa: PLC0415  few runs are drawn

        return plots.draw_idle(self._derived_tables)

    def roofline(self) -> plots.Plot:
        """Draw the workload's steps under the roof of the chip."""
        from tracekit import plots  # noqa: PLC0415  few runs are drawn

        return plots.draw_roofline(self.run.result, self._derived_tables)


@dataclass(frozen=True)
class Run:
    """One run's folder, read when asked.

    `inputs` are the paths of a recording that is not a run; it is read in the temporary folder
    of `home`, which is removed with this object.
    """

    recording: Recording
    inputs: tuple[Path, ...] = ()
    home: Home | None = None

    @property
    def provenance(self) -> Provenance:
        """The origin of the run."""
        return self.recording.provenance()

    @cached_property
    def tables(self) -> Tables:
        """The normalized tables, by name; times in ns from the start of the trace."""
        return tables_of(self.recording)

    @cached_property
    def gaps(self) -> pd.DataFrame:
        """A row for each gap in the target's GPU work: its cause and the work around it; ns.

        Raise Unavailable if the gaps cannot be told. The columns are those of the table in queries.
        """
        return analysis.Given(self.tables, self.provenance)["gap_list"].copy()

    @cached_property
    def plot(self) -> Plots:
        """The pictures of the run: `timeline`, `idle`, `roofline`."""
        return Plots(self)

    @property
    def result(self) -> Result:
        """The metrics, findings and checks of the last analysis.

        Of a recording that is not a run, the first use makes it. Its warnings say so if the run's
        files have changed since. Raise RecordingError if a run was not analyzed yet.
        """
        if self.home is not None and not self.recording.result_file.exists():
            return analyze(self.recording)
        return load_result(self.recording)

    def __repr__(self) -> str:
        """Return the run in one line: its place, its subject and whether it was judged."""
        place = self.recording.folder
        if self.inputs:
            place = ", ".join(map(str, self.inputs))
        subject = self.provenance.workload or "a recording"
        state = "judged" if self.recording.result_file.exists() else "not judged yet"
        return f"<Run of {subject}, {state}: {place}>"

    def _repr_html_(self) -> str:
        """Return the run in a line, and its result if it was judged, as HTML."""
        line = markup.html_line(repr(self))
        if not self.recording.result_file.exists():
            return line
        return line + self.result.as_html()
