"""`prune`: room on the disk, by what can be missed most easily."""

from collections import Counter
from pathlib import Path
from typing import Annotated

from tracekit import nightly, workload
from tracekit.base import InterruptedRunError, RecordingError, UsageError, age, size, size_of
from tracekit.cli import console, options
from tracekit.cli.history import Config, History
from tracekit.cli.options import argument, flag, option

_SHOWN = 20  # lines for each person to read; --json has all


def prune(
    folders: Annotated[
        list[Path] | None,
        argument("DIR…", "Folders of runs and nights.  [default: bench/traces, and the plan's]"),
    ] = None,
    *,
    keep: Annotated[str | None, option("AGE", "Prune what is older: 12h, 30d, 6w.")] = None,
    max_size: Annotated[
        str | None, option("SIZE", "Prune the oldest until all is at most: 50GB, 800MiB.")
    ] = None,
    newest: Annotated[int, option("N", "Runs of each folder that stay whole.", min=0)] = 3,
    config: Config = None,
    history: History = "",
    dry_run: Annotated[
        bool, flag("--dry-run", "Show what would be removed, and change nothing.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Free disk space by removing the bundles of old runs.

    Removes bundles first, then the XML of exports, the oldest first. Tables stay as Parquet, and
    results, pages, journals and nights' documents stay as they are: a pruned run can still be
    analyzed, reported and compared, but not opened in Instruments or exported again. Runs that are
    pinned, accepted as a baseline, at a change point or being recorded are left alone.

    Exit code 3: something could not be removed; the others were.
    """
    limits = nightly.PruneLimits(
        keep=None if keep is None else age(keep),
        max_bytes=None if max_size is None else size_of(max_size),
        newest=newest,
    )
    plan = _plan(config)
    chosen_folders = folders or _defaults(plan)
    stays = _protection(history or (plan.history if plan else ""))
    try:
        with console.progress("prune") as progress:
            done = nightly.prune(chosen_folders, limits, stays, progress, dry=dry_run)
    except KeyboardInterrupt as stop:
        raise InterruptedRunError(
            "Interrupted; what was removed is noted.", hint="Prune again to finish."
        ) from stop
    if json:
        import msgspec

        document = msgspec.to_builtins(done, enc_hook=str)
        console.show_json(document | {"freed": done.freed_bytes})
    else:
        _show(done)
    if done.failed:
        raise RecordingError(
            f"{len(done.failed)} could not be pruned: {done.failed[0]}", hint="The others were."
        )


def _plan(config: Path | None) -> "nightly.NightPlan | None":
    """Read the plan that was named; else the nearest, if there is one."""
    here = Path.cwd()
    near = (
        (folder / nightly.OWN).exists() or nightly.has_plan(folder / nightly.SHARED)
        for folder in (here, *here.parents)
    )
    return nightly.read_plan(config, work=False) if config is not None or any(near) else None


def _defaults(plan: "nightly.NightPlan | None") -> list[Path]:
    default_folders = [workload.TRACES, *([plan.output] if plan else [])]
    there = [folder for folder in default_folders if folder.is_dir()]
    if not there:
        raise UsageError(
            f"There is nothing to prune: no {' and no '.join(map(str, default_folders))}.",
            hint="Name a folder of runs.",
        )
    return there


def _protection(url: str) -> "nightly.Protection":
    """Ask a history what must stay; where none is known, nights stay as they are."""
    if not url:
        return nightly.Protection(is_known=False)
    file = nightly.place(url)
    if file.get_backend_name() == "sqlite" and not Path(str(file.database)).exists():
        return (
            nightly.Protection()
        )  # no night was kept yet, so nobody can have said anything of one
    with nightly.Store.connect(url, make=False) as store:
        trends = [(series, nightly.trend_of(series)) for series in store.series()]
        return nightly.protection(trends, store.acceptances(), store.list_pins())


def _show(done: "nightly.Pruned") -> None:
    here = Path.cwd()
    rows = [
        (
            str(removal.run.relative_to(here) if removal.run.is_relative_to(here) else removal.run),
            *(removal.what, size(removal.freed), _WHY[removal.why]),
        )
        for removal in done.removed[:_SHOWN]
    ]
    if rows:
        title = "would be removed" if done.dry else "removed"
        console.measurements(title, ("run", "what", "size", "why"), rows)
    if len(done.removed) > _SHOWN:
        console.show_line(f"… and {len(done.removed) - _SHOWN} more")
    if stays := Counter(entry.why for entry in (*done.kept, *done.stayed)):
        stay_rows = [(str(count), reason) for reason, count in stays.most_common()]
        console.measurements("kept", ("paths", "why"), stay_rows)
    if not (done.removed or done.kept or done.stayed or done.failed):
        console.show_warnings(["There is no run and no night to prune."])
    verb = "would be freed" if done.dry else "freed"
    console.show_line(
        f"{size(done.freed_bytes)} {verb}; {size(done.after)} of {size(done.before)} left"
    )
    if done.missing:
        console.show_warnings(
            [f"That is {size(done.missing)} more than --max-size: the rest has to stay."]
        )
    console.show_warnings(done.failed)


_WHY = {"old": "older than --keep", "room": "to make room"}
