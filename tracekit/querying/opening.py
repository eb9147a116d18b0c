"""A run's folder as it is, and a bundle imported for as long as questions last."""

from dataclasses import dataclass, field
from pathlib import Path

from tracekit.errors import InputError, InterruptedRunError, TracekitError
from tracekit.input_file import is_text
from tracekit.pipeline import import_
from tracekit.querying.sources import Run
from tracekit.recording import Recording


@dataclass(frozen=True)
class Opener:
    """Opens runs; bundles are imported into a private folder, each once."""

    workshop: Path
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
            return import_([bundle], folder)[0]
        except InterruptedRunError as stop:
            raise KeyboardInterrupt from stop  # no fault of the bundle, which would be left out
        except TracekitError as error:
            return error
