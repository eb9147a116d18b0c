"""Time the analysis and the page of a run, and open the page.

python bench/page.py                            # a million intervals on the GPU
python bench/page.py --count 10000 --rounds 3
python bench/page.py --run bench/traces/A-RUN   # a run that was recorded
python bench/page.py --markdown                 # a column of docs/explanation/the-page.md
python bench/page.py --against ../before        # commands beside another checkout's

Without `--run` the tables are made from a seed, typed as the reader types them; reading exports is
timed by bench/parse.py. With `--against`, or `--stages` for this checkout alone, `tracekit analyze`
and `tracekit report` read the folder of a run, each in a process of its own: their medians of CPU
seconds and peak memory are printed, with the ratios to the other checkout, whose .venv is used.
"""

import argparse
import gzip
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pandas as pd

from paging.browsing import browse
from paging.made_run import provenance, tables
from paging.run_folder import write_run
from paging.stages import describe_costs, measure_stages
from tracekit.analysis.analyze import analyze
from tracekit.analysis.result import Result
from tracekit.base.files import find_shipped_folder
from tracekit.base.recording import Provenance, Recording
from tracekit.pages.render import render
from tracekit.pages.template import SCRIPTS
from tracekit.pipeline import tables_of

Tables = Mapping[str, pd.DataFrame]
_Made = TypeVar("_Made", Result, str)
# On a machine that others use too, the seconds in which the process worked, in all its threads.
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=10**6, help="intervals on the GPU")
    parser.add_argument("--rounds", type=int, default=3, help="how often each stage is timed")
    parser.add_argument("--run", type=Path, help="a recorded run, in the place of a made one")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="seconds of what")
    parser.add_argument("--keep", type=Path, help="where to leave the page")
    parser.add_argument("--no-browser", action="store_true", help="time the stages alone")
    parser.add_argument("--markdown", action="store_true", help="print a table in Markdown")
    parser.add_argument("--stages", action="store_true", help="measure the stages as commands")
    parser.add_argument("--against", type=Path, help="another checkout, with its environment")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.write:
        write_run(chosen.write, chosen.count)
        return
    rows = compared(chosen) if chosen.stages or chosen.against else measured(chosen)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"| {name} | {value} |" if chosen.markdown else f"{name:<{width}}  {value}")


def measured(chosen: argparse.Namespace) -> list[tuple[str, str]]:
    """Return what was measured, line by line."""
    found, origin = given(chosen.run, chosen.count)
    sizes = {name: len(found[name]) for name in found}
    result, judging = _timed(lambda: analyze(found, origin), chosen)
    html, making = _timed(lambda: render(result, found, redact=str), chosen)
    rows = [
        ("intervals on the GPU", f"{sizes.get('gpu_intervals', 0):,}"),
        ("rows of all tables", f"{sum(sizes.values()):,}"),
        (f"analyze, {chosen.clock} time", judging),
        (f"report, {chosen.clock} time", making),
        ("page", f"{len(html.encode()) / 1e6:.2f} MB"),
        ("page, gzipped", f"{len(gzip.compress(html.encode(), mtime=0)) / 1e6:.2f} MB"),
        ("script in it", f"{_script_size() / 1e3:.0f} kB"),
    ]
    if chosen.no_browser:
        return rows
    with tempfile.TemporaryDirectory() as folder:
        file = chosen.keep or Path(folder) / "report.html"
        file.write_text(html, encoding="utf-8")
        return rows + browse(file.resolve()).rows


def compared(chosen: argparse.Namespace) -> list[tuple[str, str]]:
    """Return what the stages cost as commands, here and in the other checkout, line by line."""
    pythons = {"here": Path(sys.executable)}
    if chosen.against:
        pythons["there"] = chosen.against.resolve() / ".venv" / "bin" / "python"
    with tempfile.TemporaryDirectory() as scratch:
        run = chosen.run
        if run is None:
            run = Path(scratch) / "made"
            # In a process of its own: the memory of this one would count as a command's.
            writing = (sys.executable, __file__, f"--count={chosen.count}", f"--write={run}")
            subprocess.run(writing, check=True)
        costs = measure_stages(run, pythons, max(1, chosen.rounds), Path(scratch))
    return list(describe_costs(costs))


def given(run: Path | None, count: int) -> tuple[Tables, Provenance]:
    """Return the tables of a run and where it comes from; all joins are made beforehand."""
    if run is not None:
        recording = Recording(run)
        return tables_of(recording), recording.provenance()
    made = tables(count)
    for joined in ("command_buffers", "gpu_jobs"):
        made[joined]
    return made, provenance()


def _script_size() -> int:
    folder = find_shipped_folder("templates") / "report" / "script"
    return sum((folder / name).stat().st_size for name in SCRIPTS)


def _timed(make: Callable[[], _Made], chosen: argparse.Namespace) -> tuple[_Made, str]:
    seconds: list[float] = []
    made, now = None, CLOCKS[chosen.clock]
    for _ in range(max(1, chosen.rounds)):
        began = now()
        made = make()
        seconds.append(now() - began)
    assert made is not None
    return made, f"{statistics.median(seconds):.2f} s [{min(seconds):.2f} - {max(seconds):.2f}]"


if __name__ == "__main__":
    main()
