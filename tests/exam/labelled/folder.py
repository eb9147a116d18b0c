"""Write a trace of the model as a run's folder, with the exports of its tables."""

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from labelled.grammar import schemas, table
from labelled.marks import marks
from labelled.rows import ROWS, Rows
from labelled.setup import SECOND, Setup
from labelled.world import BROWSER, COMPOSITOR, OTHER_COMPILER, RIVAL, TARGET, World
from labelled.writer import write_export
from tracekit.base.recording import Overhead, Process, Provenance, Recording
from tracekit.record.host.exports import write_rows

_CREATED = "2026-03-30T20:49:19.103+00:00"


def write(world: World, folder: Path, only: Collection[str] | None = None) -> Recording:
    """Write the run's folder; what was there before is gone.

    `only` names the schemas of Apple's that are exported; all of them where it is None.
    """
    shutil.rmtree(folder, ignore_errors=True)
    recording = Recording(folder)
    recording.exports.mkdir(parents=True)
    setup = world.setup
    listed = [name for name in schemas(setup.version) if _is_there(setup, name)]
    np.random.default_rng([setup.seed, 6]).shuffle(listed)  # no two versions list them alike
    for place, name in enumerate(listed, start=1):
        if only is not None and name not in only:
            continue
        path = recording.exports / f"{name}.xml"
        renamed = setup.drifted if name == "metal-gpu-intervals" else ""
        rows = _disordered(_recorded(ROWS[name](world), world), setup)
        write_export(path, table(name, setup.version, place, renamed), rows)
    for name, rows in marks(world).items():
        write_rows(recording.exports, name, rows)
    if setup.cut is not None:
        _cut(recording.exports / "metal-gpu-intervals.xml", setup.cut)
    recording.toc_file.write_text("".join(_toc(world, listed)))
    recording.save_provenance(provenance(world))
    return recording


def provenance(world: World) -> Provenance:
    """Return where the trace comes from, as a recording of xctrace has it."""
    setup = world.setup
    known = setup.overhead is not None
    return Provenance(
        created=_CREATED,
        recorder="xctrace",
        recorder_version=f"xctrace version {setup.version}",
        workload="paged" if setup.marks else "",
        targets=(Process(TARGET.pid, TARGET.name),),
        templates=("Metal System Trace",),
        started=_CREATED,
        duration=world.end / SECOND,
        end_reason="Target app exited",
        machine={"system": "macOS", "chip": setup.machine.chip, "gpu_cores": setup.machine.cores},
        overhead=Overhead(setup.overhead, 0.004, 60, 60)
        if known
        else Overhead(reason="the workload made no other steps."),
        target_rows=not setup.empty,
        parameters={},
    )


def _is_there(setup: Setup, schema: str) -> bool:
    counters = schema in {"gpu-counter-value", "gpu-counter-info"}
    return schema not in setup.missing and (not counters or setup.counters is not None)


def _recorded(rows: Rows, world: World) -> Rows:
    """Yield the rows up to the moment at which the recorder stopped."""
    stopped = world.setup.stopped
    if stopped is None:
        return rows
    begin, end = world.steady
    last = begin + round((end - begin) * stopped)
    return (row for row in rows if int(str(row[0])) < last)


def _disordered(rows: Rows, setup: Setup) -> Rows:
    """Yield the rows, some of them a few places too early or too late."""
    if not setup.shuffled:
        return rows
    known = list(rows)
    off = np.random.default_rng([setup.seed, 7]).uniform(0, 6, len(known))
    return iter([known[place] for place in np.argsort(np.arange(len(known)) + off).tolist()])


def _cut(path: Path, share: float) -> None:
    """Take the end off an export, in the middle of a row."""
    content = path.read_bytes()
    path.write_bytes(content[: round(len(content) * share)])


def _toc(world: World, listed: list[str]) -> Iterator[str]:
    setup = world.setup
    yield '<?xml version="1.0"?>\n\n<trace-toc>\n<run number="1">\n<info>\n<target>\n'
    yield '<device platform="macOS" model="Mac" name="Mac" os-version="26.3.1 (25D2128)"/>\n'
    yield (
        f'<process type="launched" name="{TARGET.name}" pid="{TARGET.pid}" '
        'return-exit-status="0" termination-reason="exit(0)"/>\n</target>\n<summary>\n'
    )
    for tag, text in {
        "start-date": _CREATED,
        "end-date": _CREATED,
        "duration": f"{world.end / SECOND:.6f}",
        "end-reason": "Target app exited",
        "instruments-version": setup.version,
        "template-name": "Metal System Trace",
        "recording-mode": "Deferred",
        "time-limit": "12 hours",
    }.items():
        yield f"<{tag}>{text}</{tag}>\n"
    yield "</summary>\n</info>\n<processes>\n"
    for one in (TARGET, COMPOSITOR, BROWSER, RIVAL, OTHER_COMPILER):
        yield f'<process name="{one.name}" pid="{one.pid}" path="/"/>\n'
    yield "</processes>\n<data>\n"
    for name in listed:
        yield f'<table schema="{name}"/>\n'
    yield "</data>\n</run>\n</trace-toc>\n"
