"""Run one method on one file in this process, and say on standard output what came of it.

python -m reading.alone time METHOD EXPORT
python -m reading.alone check METHOD EXPORT TRUTH STACKS FRAMES
python -m reading.alone make KIND EXPORT MEGABYTES SEED
"""

import json
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reading import memory
from reading.methods import RIVAL, named


def measure(name: str, export: str) -> dict[str, Any]:
    """Run a method once; the time and the memory are those above its imports."""
    method, path = named(name), Path(export)
    run = method.load()
    before = memory.resident()
    began, worked = time.perf_counter(), _cpu()
    made = run(path)
    seconds, cpu = time.perf_counter() - began, _cpu() - worked
    taken = memory.peak_of_programs() if method.program else memory.peak() - before
    _remove(made)
    return {"seconds": seconds, "cpu": cpu, "memory": taken}


def check(name: str, export: str, *truth: str) -> dict[str, Any]:
    """Compare what a method decodes with the truth, or without one with the tuned rival."""
    from reading import truth as truths  # noqa: PLC0415  # programs are timed without it

    path = Path(export)
    expected = truths.load(*map(Path, truth)) if truth else named(RIVAL).load()(path)
    made = named(name).load()(path)
    if isinstance(made, Path):
        expected = truths.without_stacks(expected, path)
    found = truths.written(made) if isinstance(made, Path) else made
    _remove(made)
    return {"rows": expected.table.num_rows, "difference": truths.difference(found, expected)}


def make(kind: str, export: str, megabytes: str, seed: str) -> dict[str, Any]:
    """Write a synthetic export and its truth."""
    from synthetic import KINDS, write  # noqa: PLC0415  # as above

    write(KINDS[kind], Path(export), float(megabytes), int(seed))
    return {}


def _cpu() -> float:
    """Return the seconds of work of this process, all its threads, and the programs it ran."""
    spent = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in spent)


def _remove(made: object) -> None:
    if isinstance(made, Path):
        shutil.rmtree(made.parent)


_JOBS: dict[str, Callable[..., dict[str, Any]]] = {"time": measure, "check": check, "make": make}

if __name__ == "__main__":
    try:
        answer = _JOBS[sys.argv[1]](*sys.argv[2:])
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what came of it
        answer = {"failure": f"{type(error).__name__}: {error}"}
    print(f"\n{json.dumps(answer)}")
