"""One source to analyse, and the settings for it: what a batch hands to its workers."""

from dataclasses import dataclass

from tracekit.base import own_version
from tracekit.fleet.batch.results import BatchRow
from tracekit.fleet.batch.sources import RecordingSource

_FORM = 2  # of rows and tables, for folders of this version that were begun before a change


@dataclass(frozen=True)
class Choices:
    """The settings for every recording of a batch.

    `target` is the process, by pid or name, whose rows count if a recording is imported; of
    `tables` to keep, `all` means every one; `redacted` leaves names of people and machines
    out; `run` is the run of each trace that is analysed, by default the last, or the one that a
    run's folder was made for. With `pages`, each recording gets a page.
    """

    target: str | None = None
    tables: tuple[str, ...] = ()
    redacted: bool = True
    run: int | None = None
    pages: bool = False

    @property
    def settings(self) -> str:
        """A text that changes when results would; recordings are analysed again then."""
        tables = ",".join(self.tables)
        settings = (own_version(), _FORM, self.target, tables, self.redacted, self.run, self.pages)
        return "\0".join(map(str, settings))


@dataclass(frozen=True)
class Task:
    """One source to analyse: its name in the results, and the digest of its files.

    `output` is the batch's folder, for tables and pages that are kept.
    """

    source: RecordingSource
    name: str
    stamp: str
    choices: Choices
    output: str = ""

    @property
    def row(self) -> BatchRow:
        """The row with only the facts of the source."""
        source = self.source
        return BatchRow(self.name, source.key, source.key, self.stamp, str(source.form), "failed")
