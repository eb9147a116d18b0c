"""A run's folder as it is, and a bundle imported for as long as questions last."""

from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base.errors import InputError, InterruptedRunError, TracekitError
from tracekit.base.files import is_text
from tracekit.base.recording import Recording
from tracekit.fleet.query.sources import Run
from tracekit.pipeline import import_
from tracekit.tables.exports import index
from tracekit.tables.one_run import meant


@dataclass(frozen=True)
class Opener:
    """Opens runs; bundles are imported into a private folder, each once.

    `number` says which run of a bundle that has several; None for the last. `notes` grows with
    sentences on bundles of which the last was taken.
    """

    workshop: Path
    number: int | None = None
    notes: list[str] = field(default_factory=list[str])
    _imported: dict[Path, Recording | TracekitError] = field(
        default_factory=dict[Path, Recording | TracekitError]
    )

    def opened(self, run: Run) -> Recording:
        """Return the run.

        Raises:
            TracekitError: It is a bundle that cannot be imported, or its path is no text.
        """
        if not is_text(run.path.resolve()):
            raise InputError(f"{run.place} is no text in UTF-8.", hint="Rename it.")
        if not run.is_bundle:
            return Recording(run.path)
        if run.path not in self._imported:
            self._imported[run.path] = self._import(run.path)
        found = self._imported[run.path]
        if isinstance(found, TracekitError):
            raise found
        return found

    def _import(self, bundle: Path) -> Recording | TracekitError:
        folder = self.workshop / "imported" / f"{len(self._imported)}-{bundle.stem}"
        try:
            found = import_([bundle], folder, run=self.number)[0]
            _, several = meant(index(found.exports), found.exports, self.number, bundle.name)
        except InterruptedRunError as stop:
            raise KeyboardInterrupt from stop  # no fault of the bundle, which would be left out
        except TracekitError as error:
            return error
        self.notes.extend(several)
        return found
