"""All recordings among files and folders, as runs."""

from collections.abc import Sequence
from pathlib import Path

from tracekit.base.errors import InputError, UsageError
from tracekit.base.recording import Recording
from tracekit.record.choice import judged
from tracekit.record.imports.bundles import bring_bundle
from tracekit.record.imports.exports import bring_exports
from tracekit.record.imports.sources import found, name_of, recordings_of
from tracekit.record.recorder import Progress
from tracekit.record.xctrace.exporting import Choose


def bring(
    paths: Sequence[Path],
    output: Path | None,
    target: str | None,
    progress: Progress,
    run: int | None = None,
    *,
    wanted: Choose = judged,
) -> list[Recording]:
    """Make a run's folder for each recording found in the given files and folders.

    `run` is the number of the run that each is to be of, where they have several; `wanted` says
    which schemas of a bundle are exported that cannot be read where it is.

    Raises:
        UsageError: A path does not exist, or `output` is given for several recordings.
        InputError: Nothing there is an export, or files cannot be told apart.
    """
    bundles, files = found(paths)
    sources = recordings_of(files) if files else []
    if not bundles and not sources:
        raise InputError(
            f"No export and no bundle in {', '.join(map(str, paths))}.", hint=_hint(paths)
        )
    if output is not None and len(bundles) + len(sources) > 1:
        raise UsageError(
            f"--output names one folder, but there are {len(bundles) + len(sources)} recordings: "
            f"{', '.join([one.name for one in sources] + [name_of(one) for one in bundles])}.",
            hint="Leave --output out, or name the files of one recording.",
        )
    made = [bring_exports(one, output, target, progress, run) for one in sources]
    return made + [
        bring_bundle(one, output, target, progress, run, wanted=wanted) for one in bundles
    ]


def _hint(paths: Sequence[Path]) -> str:
    renamed = [one for one in paths if (one / "corespace").is_dir()]
    if renamed:
        return f"A bundle's folder ends with .trace: rename it, {renamed[0].name}.trace."
    return "An export is what `xctrace export` writes, with --toc or --xpath."
