"""Time the command lines of this checkout and of another one, in turns.

python bench/paired.py ../before --bundle X.trace              # all lines
python bench/paired.py ../before --bundle X.trace --only analyze,report --rounds 15
python bench/paired.py ../before --runs 200 --only query-many

Each line of the table is one task of a user. Both checkouts run the same commands, each with its
own environment, folder of runs and home. The seconds are those in which the processor worked for
a command and for everything that it started. The ratio of a round is this checkout's seconds
over the other one's; the table shows the medians, and the least and greatest ratio.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "exam"))
from labelled.drawn import clean  # noqa: E402
from labelled.folder import write  # noqa: E402
from labelled.program import simulate  # noqa: E402

_STEPS = 6
_WARM_UP = 1
_DISTINCT_RUNS = 20
_COUNT = "select count(*) from gpu_intervals"
_DECIDED = (0, 3, 4)  # exit codes of commands that did their work
Command = tuple[str, ...]


@dataclass(frozen=True)
class Checkout:
    """A checkout with its environment, and a folder for the runs that its commands read.

    `bundle` is the bundle that is read. `is_whole` says whether `report` makes a run of a bundle.
    """

    name: str
    python: Path
    folder: Path
    bundle: Path | None
    is_whole: bool = False

    def run(self, command: Command) -> float:
        """Run a command; return its seconds of CPU, with those of all processes it started.

        Raises:
            SystemExit: The command failed.
        """
        home = self.folder / "home"
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TZ": "UTC", "LANG": "C"}
        with (self.folder / "printed").open("w+b") as printed:
            process = subprocess.Popen(
                (self.python, "-m", "tracekit", *command),
                cwd=self.folder,
                env=environment,
                stdout=printed,
                stderr=subprocess.STDOUT,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode not in _DECIDED:
                printed.seek(0)
                last_words = printed.read().decode(errors="replace")[-2000:]
                sys.exit(f"{self.name}: {' '.join(command)}: {process.returncode}\n{last_words}")
        return usage.ru_utime + usage.ru_stime


@dataclass(frozen=True)
class Task:
    """A task of a user: the commands that are timed, and what is made ready before each round."""

    name: str
    meaning: str
    commands: Callable[[Checkout], Sequence[Command]]
    prepare: Callable[[Checkout], None] = lambda _: None
    needs_bundle: bool = False


@dataclass
class Timings:
    """The seconds of CPU of a task, a value a round; `ratios` are here over there."""

    here: list[float] = field(default_factory=list[float])
    there: list[float] = field(default_factory=list[float])

    @property
    def ratios(self) -> list[float]:
        """The ratio of each round."""
        return [here / there for here, there in zip(self.here, self.there, strict=True)]


def _always(*command: str) -> Callable[[Checkout], Sequence[Command]]:
    return lambda _: (command,)


def _import(checkout: Checkout) -> Sequence[Command]:
    return (("import", str(checkout.bundle), "--output", "imported"),)


def _make_page(checkout: Checkout) -> Sequence[Command]:
    """Return the shortest way from a bundle to its page that a checkout has."""
    if checkout.is_whole:
        return (("report", str(checkout.bundle), "--output", "imported"),)
    return (*_import(checkout), ("analyze", "imported"), ("report", "imported"))


def _remove_imported(checkout: Checkout) -> None:
    shutil.rmtree(checkout.folder / "imported", ignore_errors=True)


def _copy_unread(checkout: Checkout) -> None:
    """Put a run that was imported and never read into `fresh`."""
    shutil.rmtree(checkout.folder / "fresh", ignore_errors=True)
    shutil.copytree(checkout.folder / "unread", checkout.folder / "fresh", symlinks=True)


TASKS = (
    Task("help", "the list of commands", _always("--help")),
    Task("doctor", "the checks of this machine", _always("doctor")),
    Task("tables", "the tables of a small run", _always("tables", "small")),
    Task("query", "a count over one small run", _always("query", _COUNT, "small")),
    Task("compare-small", "two small runs", _always("compare", "small", "small-2")),
    Task("analyze-small", "a small run, read before", _always("analyze", "small")),
    Task("import", "the bundle", _import, _remove_imported, needs_bundle=True),
    Task("tables-bundle", "the bundle's run", _always("tables", "run"), needs_bundle=True),
    Task("query-bundle", "the bundle's run", _always("query", _COUNT, "run"), needs_bundle=True),
    Task(
        "analyze-first",
        "the bundle's run, never read before",
        _always("analyze", "fresh"),
        _copy_unread,
        needs_bundle=True,
    ),
    Task("analyze", "the bundle's run, read before", _always("analyze", "run"), needs_bundle=True),
    Task("report", "the bundle's run, read before", _always("report", "run"), needs_bundle=True),
    Task("compare", "two equal runs of it", _always("compare", "run", "run-2"), needs_bundle=True),
    Task("page", "the bundle to its page", _make_page, _remove_imported, needs_bundle=True),
    Task("query-many", "the runs of --runs, asked before", _always("query", _COUNT, "many")),
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Time the chosen tasks, and print a table of them; return 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("against", type=Path, help="another checkout, with its environment")
    parser.add_argument("--bundle", type=Path, help="a bundle of Instruments")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=0, help="small runs for query-many")
    parser.add_argument("--only", default="", help="names of tasks, separated by commas")
    options = parser.parse_args(arguments)
    tasks = choose(options.only, has_bundle=options.bundle is not None, runs=options.runs)
    with tempfile.TemporaryDirectory() as scratch:
        there = prepare("there", options.against, Path(scratch) / "there", options.bundle)
        here = prepare("here", ROOT, Path(scratch) / "here", options.bundle)
        make_runs((there, here), options.runs)
        print(f"{'task':14} {'here':>7} {'there':>7} {'ratio':>6}  {'from … to':12}")
        for task in tasks:
            print(describe(task, measure(task, here, there, options.rounds)), flush=True)
    return 0


def choose(only: str, *, has_bundle: bool, runs: int) -> list[Task]:
    """Return the named tasks, or all that have their inputs."""
    names = [name for name in only.split(",") if name]
    unknown = set(names) - {task.name for task in TASKS}
    if unknown:
        sys.exit(f"There are no tasks {', '.join(sorted(unknown))}.")
    chosen: list[Task] = []
    for task in TASKS:
        has_inputs = (has_bundle or not task.needs_bundle) and (runs or task.name != "query-many")
        if has_inputs and (not names or task.name in names):
            chosen.append(task)
    return chosen


def prepare(name: str, root: Path, folder: Path, bundle: Path | None) -> Checkout:
    """Return a checkout, with the bundle imported into its folder three times."""
    (folder / "home").mkdir(parents=True)
    python = root.resolve() / ".venv" / "bin" / "python"
    whole_bundle = bundle
    if bundle is not None:
        whole_bundle = bundle.resolve()
    checkout = Checkout(name, python, folder, whole_bundle)
    checkout.run(("report", "--help"))
    is_whole = b"--output" in (folder / "printed").read_bytes()
    checkout = replace(checkout, is_whole=is_whole)
    if bundle is not None:
        for run in ("unread", "run", "run-2"):
            checkout.run(("import", str(checkout.bundle), "--output", run))
        for run in ("run", "run-2"):
            checkout.run(("report", run) if is_whole else ("analyze", run))
    return checkout


def make_runs(checkouts: Sequence[Checkout], count: int) -> None:
    """Write small runs, the same ones for each checkout, and have them read once.

    Beyond twenty, runs are copies of the first twenty: their exports are equal, not their folders.
    """
    first, *others = checkouts
    for number, name in enumerate(("small", "small-2")):
        _simulate(number, first.folder / name)
    for number in range(count):
        target = first.folder / "many" / f"{number:05d}"
        if number < _DISTINCT_RUNS:
            _simulate(number, target)
        else:
            twin = first.folder / "many" / f"{number % _DISTINCT_RUNS:05d}"
            shutil.copytree(twin, target)
    for checkout in others:
        for name in ("small", "small-2", "many"):
            if (first.folder / name).exists():
                shutil.copytree(first.folder / name, checkout.folder / name)
    for checkout in checkouts:
        for name in ("small", "small-2"):
            checkout.run(("analyze", name))


def _simulate(seed: int, folder: Path) -> None:
    setup = replace(clean(seed), steps=_STEPS, warm_up=_WARM_UP)
    write(simulate(setup), folder)


def measure(task: Task, here: Checkout, there: Checkout, rounds: int) -> Timings:
    """Run a task in both checkouts, in turns; each begins every second round.

    A first round is not timed: it writes bytecode and whatever a command keeps.
    """
    timings = Timings()
    sides = [(here, timings.here), (there, timings.there)]
    for number in range(rounds + 1):
        sides.reverse()
        for checkout, seconds in sides:
            task.prepare(checkout)
            spent = sum(checkout.run(command) for command in task.commands(checkout))
            if number:
                seconds.append(spent)
    return timings


def describe(task: Task, timings: Timings) -> str:
    """Return the row of a task."""
    ratios = timings.ratios
    span = f"{min(ratios):.2f} … {max(ratios):.2f}"
    seconds = f"{statistics.median(timings.here):7.3f} {statistics.median(timings.there):7.3f}"
    return f"{task.name:14} {seconds} {statistics.median(ratios):6.2f}  {span:12}  {task.meaning}"


if __name__ == "__main__":
    sys.exit(main())
