"""`runs prune`: free disk space by removing the least needed files of old runs."""

from collections import Counter
from pathlib import Path
from typing import Annotated

from tracekit import nightly, workload
from tracekit.base import InterruptedRunError, RecordingError, UsageError, units
from tracekit.cli import console, options
from tracekit.cli.opened_history import Config, History
from tracekit.cli.options import argument, flag, option

_SHOWN = 20  # lines for each person to read; --json has all


Folders = Annotated[
    list[Path] | None,
    argument("DIR…", "Folders of runs and nights.  [default: bench/traces, and the plan's]"),
]
Keep = Annotated[str | None, option("AGE", "Prune runs older than this: 12h, 30d, 6w.")]
MaxSize = Annotated[
    str | None, option("SIZE", "Prune the oldest until the total is at most: 50GB, 800MiB.")
]
Newest = Annotated[int, option("N", "Runs of each folder that stay whole.", min=0)]
DryRun = Annotated[bool, flag("--dry-run", "List the files to remove; change nothing.")]


def prune(
    folders: Folders = None,
    *,
    keep: Keep = None,
    max_size: MaxSize = None,
    newest: Newest = 3,
    config: Config = None,
    history: History = "",
    dry_run: DryRun = False,
    json: options.Json = False,
) -> None:
    """Free disk space by removing the bundles of old runs.

    Removes bundles first, then the XML of exports, the oldest first. Tables stay as Parquet, and
    results, pages, journals and nights' documents stay as they are: a pruned run can still be
    analyzed, reported and compared, but not opened in Instruments or exported again. Runs that are
    pinned, accepted as a baseline, at a change point or being recorded are left alone.

    Exit code 3: something could not be removed; the others were.
    """
    longest_age = None
    if keep is not None:
        longest_age = units.age(keep)
    max_bytes = None
    if max_size is not None:
        max_bytes = units.size_of(max_size)
    limits = nightly.pruning.PruneLimits(
        keep=longest_age,
        max_bytes=max_bytes,
        newest=newest,
    )
    plan = _plan(config)
    chosen_folders = folders or _defaults(plan)
    if plan and not history:
        history = plan.history
    stays = _protection(history)
    try:
        with console.progress("prune") as progress:
            done = nightly.pruning.prune(chosen_folders, limits, stays, progress, dry=dry_run)
    except KeyboardInterrupt as stop:
        raise InterruptedRunError(
            "Interrupted; the removed files are noted.", hint="Prune again to finish."
        ) from stop
    if json:
        import msgspec

        document = msgspec.to_builtins(done, enc_hook=str)
        console.show_json(document | {"freed": done.freed_bytes})
    else:
        _show(done)
    if done.failed:
        first_failure = done.failed[0]
        raise RecordingError(
            f"{len(done.failed)} could not be pruned: {first_failure}", hint="The others were."
        )


def _plan(config: Path | None) -> "nightly.NightPlan | None":
    """Read the named plan, or without a name the nearest, if there is one."""
    here = Path.cwd()
    if config is None and not any(map(_has_plan, (here, *here.parents))):
        return None
    return nightly.read_plan(config, work=False)


def _has_plan(folder: Path) -> bool:
    return (folder / nightly.document.OWN).exists() or nightly.document.has_plan(
        folder / nightly.document.SHARED
    )


def _defaults(plan: "nightly.NightPlan | None") -> list[Path]:
    default_folders = [workload.plan.TRACES]
    if plan:
        default_folders.append(plan.output)
    existing_folders = [folder for folder in default_folders if folder.is_dir()]
    if not existing_folders:
        folder_names = " and no ".join(map(str, default_folders))
        raise UsageError(
            f"There is nothing to prune: no {folder_names}.",
            hint="Name a folder of runs.",
        )
    return existing_folders


def _protection(url: str) -> "nightly.pruning.Protection":
    """Return the nights and runs of a history that must stay; without one, all nights stay."""
    if not url:
        return nightly.pruning.Protection(is_known=False)
    file = nightly.place.url_of(url)
    if file.get_backend_name() == "sqlite" and not Path(str(file.database)).exists():
        # No night was kept yet, so none can be pinned or accepted.
        return nightly.pruning.Protection()
    with nightly.Store.connect(url, make=False) as store:
        trends = [(series, nightly.trend_of(series)) for series in store.series()]
        acceptances = store.acceptances()
        return nightly.pruning.protection(trends, acceptances, store.list_pins())


def _show(done: "nightly.pruning.Pruned") -> None:
    conditional = ""
    if done.dry:
        conditional = "would be "
    _show_removed(done, f"{conditional}removed")
    all_kept = (*done.kept, *done.stayed)
    stays = Counter(entry.why for entry in all_kept)
    if stays:
        common_stays = stays.most_common()
        stay_rows = [(str(count), reason) for reason, count in common_stays]
        console.measurements("kept", ("paths", "why"), stay_rows)
    if not (done.removed or done.kept or done.stayed or done.failed):
        console.show_warnings(["There is no run and no night to prune."])
    verb = f"{conditional}freed"
    freed_text = units.size(done.freed_bytes)
    size_after = units.size(done.after)
    size_before = units.size(done.before)
    console.show_line(f"{freed_text} {verb}; {size_after} of {size_before} left")
    if done.missing:
        console.show_warnings(
            [f"That is {units.size(done.missing)} more than --max-size: the rest has to stay."]
        )
    console.show_warnings(done.failed)


def _show_removed(done: "nightly.pruning.Pruned", title: str) -> None:
    here = Path.cwd()
    rows: list[tuple[str, str, str, str]] = []
    for removal in done.removed[:_SHOWN]:
        run = removal.run
        if run.is_relative_to(here):
            run = run.relative_to(here)
        rows.append((str(run), removal.what, units.size(removal.freed), _WHY[removal.why]))
    if rows:
        console.measurements(title, ("run", "what", "size", "why"), rows)
    if len(done.removed) > _SHOWN:
        console.show_line(f"… and {len(done.removed) - _SHOWN} more")


_WHY = {"old": "older than --keep", "room": "to make room"}
