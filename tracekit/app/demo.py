"""The packaged recordings: made by a generator, and read as any other input is."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracekit import fleet
from tracekit.app import runs
from tracekit.app.sources import find_sources
from tracekit.base import Recording, UsageError, require
from tracekit.record import Progress, quiet

_RECORDINGS = Path(__file__).parent / "recordings"


@dataclass(frozen=True)
class Demo:
    """A packaged recording: its subject, and the thread and the figures that it was made after.

    `made_by` is the name of the generator's problem, and `size` its parameters.
    """

    name: str
    title: str
    made_by: str
    thread: str
    figures: str
    size: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def file(self) -> Path:
        """The zip file with its exports."""
        return _RECORDINGS / f"{self.name}.zip"

    @property
    def label(self) -> str:
        """The sentence that its page begins with."""
        return (
            f"Made by tracekit's own generator, not recorded on a machine. {self.title} "
            f"Its figures are those of {self.thread}: {self.figures}."
        )


def list_demos() -> dict[str, Demo]:
    """Return the packaged recordings by name, in the order in which they are shown."""
    entries = tomllib.loads((_RECORDINGS / "recordings.toml").read_text("utf-8"))
    return {name: Demo(name, **entry) for name, entry in entries.items()}


def make_demos(
    output: Path, names: Sequence[str] = (), progress: Progress = quiet
) -> list[Recording]:
    """Make the pages of packaged recordings, and an index of them, in a folder.

    Args:
        output: The folder, with a run for each. Runs of an earlier demo are made anew.
        names: The recordings, by default all.
        progress: Called with each step in words.

    Raises:
        UsageError: There is no such recording, or another run is in its place.
        RecordingError: The folder cannot be written.
    """
    demos = list_demos()
    for name in names:
        require(name, demos, "packaged recording")
    recordings = [_make_demo(demos[name], output / name, progress) for name in names or demos]
    fleet.index.write_index(output)
    return recordings


def _make_demo(demo: Demo, folder: Path, progress: Progress) -> Recording:
    recording = Recording(folder)
    if recording.provenance_file.exists():
        if not recording.provenance().made:
            raise UsageError(f"{folder} is another run.", hint="Name a folder with --output.")
        runs.clear(recording)
    source = find_sources([demo.file])[0]
    runs.make_run(source, folder, progress=_name_steps(demo, progress))
    provenance = recording.provenance()
    recording.save_provenance(replace(provenance, made=demo.label))
    runs.write_page(recording, progress)
    return recording


def _name_steps(demo: Demo, progress: Progress) -> Callable[[str], None]:
    return lambda step: progress(f"{demo.name}: {step}")
