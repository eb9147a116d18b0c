"""The state of a server: the runs that it made of other recordings.

Nothing is written next to a recording. A bundle, a zip file or exports become a run in a temporary
folder, which goes with the session; a run that is there is read as it is.
"""

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from tracekit import app, pipeline
from tracekit.analysis import Result
from tracekit.base import Recording, RecordingError
from tracekit.mcp.folders import Folders, ListedRecording


@dataclass
class Session:
    """The folders that may be read, and the runs that were made so far, by path and stamp."""

    folders: Folders
    _home: tempfile.TemporaryDirectory[str] = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="tracekit-mcp-")
    )
    _runs: dict[tuple[Path, str], Recording] = field(
        default_factory=dict[tuple[Path, str], Recording]
    )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the temporary folder."""
        self._home.cleanup()

    def hide_paths(self, value: Any) -> Any:
        """Return a JSON value whose texts name the folders instead of showing their paths."""
        if isinstance(value, str):
            text = re.sub(rf"{re.escape(self._home.name)}/\d+/", "", value)
            for name, root in self.folders.roots:
                text = text.replace(str(root), name)
            return text
        if isinstance(value, dict):
            entries = cast("dict[str, Any]", value)
            return {key: self.hide_paths(entry) for key, entry in entries.items()}
        if isinstance(value, list | tuple):
            return [self.hide_paths(entry) for entry in cast("list[Any]", value)]
        return value

    def open_run(self, name: str) -> Recording:
        """Return the run of a listed recording; any other kind is imported once.

        Raises:
            UsageError: It is not listed, or holds several recordings.
            InputError: It is damaged, or leads outside of the folders.
        """
        entry = self.folders.find(name)
        if entry.kind == "run":
            return Recording(entry.path)
        source = _find_source(entry)
        for path in source.paths:
            self.folders.require_inside(path)
        key = (entry.path, source.stamp())
        if key not in self._runs:
            kept_run = app.runs.find_kept_run(source)
            if kept_run is not None and self.folders.holds(kept_run.folder):
                self.folders.require_inside(kept_run.folder)
                self._runs[key] = kept_run
            else:
                folder = Path(self._home.name, str(len(self._runs)), source.name)
                self._runs[key] = app.runs.make_run(source, folder, in_place=True)
        return self._runs[key]

    def open_analyzed(self, name: str) -> tuple[Recording, Result]:
        """Return the run of a listed recording and its result.

        Raise RecordingError if a person's run was not analyzed, as nothing is written into it.
        """
        recording = self.open_run(name)
        if recording.result_file.exists():
            return recording, pipeline.load_result(recording)
        if not recording.folder.is_relative_to(Path(self._home.name)):
            raise RecordingError(
                f"{name} is not analyzed yet, and this server writes into no run.",
                hint="The person can run `tracekit analyze` on it.",
            )
        return recording, pipeline.analyze(recording)


def _find_source(entry: ListedRecording) -> app.runs.Source:
    """Return the recording of an entry; of a folder of exports, not the bundles next to them."""
    if entry.kind == "exports":
        sources = app.runs.find_sources([entry.path])
        exports = [source for source in sources if source.kind == "exports"]
        if len(exports) == 1:
            return exports[0]
    return app.runs.only_source([entry.path])
