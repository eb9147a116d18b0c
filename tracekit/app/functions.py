"""The functions for Python users: each takes any input that the command of its name takes."""

import builtins
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from tracekit import comparison, fleet, pipeline, workload
from tracekit.analysis import Result
from tracekit.app import runs
from tracekit.base import Recording, require
from tracekit.run import Home, Run
from tracekit.workload import Plan

Input = str | Path | Run
"""A run, a bundle, a zip file, exports or a folder of exports, by its path; or an open run."""
_STEPS = 30  # as for the command line


def open(  # noqa: A001  tracekit.open(path) reads well
    *inputs: str | Path, target: str | None = None, run: int | None = None
) -> Run:
    """Open any recording: its tables, and its result.

    A recording that is not a run yet is read in a temporary folder, which goes with the returned
    object; nothing is written next to the input.

    Args:
        inputs: The path of a run, bundle, zip file, export or folder of exports; several paths
            if they are the exports of one recording.
        target: The pid or the name of the process whose rows count; by default the recording's.
        run: The run of a trace that has several; by default the last one.

    Raises:
        UsageError: A path, the target or the run does not exist, or there are several recordings.
        InputError: There is no recording, or it is damaged.
    """
    paths = [Path(path) for path in inputs]
    source = runs.only_source(paths)
    choices = runs.InputChoices(target, run)
    if source.kind == "run":
        recording = runs.choose_again(Recording(source.paths[0]), choices)
        _ = recording.provenance()
        return Run(recording)
    home = Home()
    recording = runs.find_or_make_run(source, home.path / source.name, choices)
    return Run(recording, tuple(paths), home)


def analyze(
    *inputs: Input,
    target: str | None = None,
    run: int | None = None,
    output: str | Path | None = None,
) -> Result:
    """Measure and judge a recording, and write result.json, as `tracekit analyze` does.

    Takes the inputs and choices of `open`; `output` is the new folder for the run of an input that
    is not a run, by default INPUT-run next to it.
    """
    recording = runs.keep_run(_paths_of(inputs), _path_of(output), runs.InputChoices(target, run))
    return pipeline.analyze(recording)


def report(
    *inputs: Input,
    target: str | None = None,
    run: int | None = None,
    output: str | Path | None = None,
) -> Path:
    """Write the page about a recording, as `tracekit report` does, and return its path.

    Takes the arguments of `analyze`.
    """
    recording = runs.keep_run(_paths_of(inputs), _path_of(output), runs.InputChoices(target, run))
    return runs.write_page(recording)


def compare(
    before: Input | Sequence[Input],
    after: Input | Sequence[Input],
    *,
    threshold: float = 0.03,
    metrics: Sequence[str] = (),
    force: bool = False,
) -> comparison.Comparison:
    """Compare recordings, one or several of each side, as `tracekit compare` does.

    Args:
        before: The recordings of one side.
        after: Those of the other.
        threshold: The least change that matters, as a ratio.
        metrics: The metrics that decide; by default those of speed.
        force: Compare different work, too.

    Raises:
        UsageError: The recordings are not of the same work, or one is given twice.
        InputError: One of them cannot be read.
    """
    limits = comparison.Limits(threshold=threshold, metrics=tuple(metrics))
    with (
        runs.comparing(_side(before)) as paths_before,
        runs.comparing(_side(after)) as paths_after,
    ):
        compared = comparison.runs.compare_paths(paths_before, paths_after, limits, force=force)
    return compared.comparison


def query(sql: str, *inputs: Input, run: int | None = None) -> pd.DataFrame:
    """Query the tables of recordings in SQL, as `tracekit query` does; return all rows.

    Raises:
        UsageError: It is not a query, or names a table or column that does not exist.
        RecordingError: There is no run, or none that has a table.
    """
    choices = runs.InputChoices(run=run)
    with (
        runs.asking(_paths_of(inputs), choices) as paths,
        fleet.ask_runs(sql, paths, number=run) as (answer, _),
    ):
        rows = BytesIO()
        answer.write(rows, "parquet")
    rows.seek(0)
    return pd.read_parquet(rows)


def capture(
    name: str,
    *,
    recorder: Literal["auto", "xctrace", "host"] = "auto",
    time_limit: float | None = None,
    repeats: int | None = None,
    output: str | Path | None = None,
    workloads: str | Path | None = None,
    **parameters: Any,
) -> Run:
    """Record a workload, analyze it and write its page, as `tracekit capture` does.

    Args:
        name: The workload, such as "paged".
        recorder: The recorder; "auto" is xctrace if this machine has it, else the host recorder.
        time_limit: The longest time to record, in seconds; by default 10, on the host until there
            are 30 steps.
        repeats: Stop after so many steady steps.
        output: The new folder for the run, by default one in bench/traces.
        workloads: A folder with workloads of your own.
        parameters: Parameters of the workload, by name.

    Raises:
        UsageError: There is no such workload or parameter.
        ToolError: Nothing was recorded.
    """
    found_workload = workload.find(name, _path_of(workloads))
    for parameter in parameters:
        require(parameter, found_workload.parameters, f"parameter of {found_workload.name}")
    plan = Plan(
        workload=found_workload,
        parameters=parameters,
        recorder=recorder,
        time_limit=time_limit or Plan.time_limit,
        steps=0 if time_limit else _STEPS,
        repeats=repeats,
        output=_path_of(output),
    )
    recording, _ = pipeline.capture(plan)
    return Run(recording)


def _path_of(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _paths_of(inputs: Sequence[Input]) -> list[Path]:
    paths: list[Path] = []
    for recording_input in inputs:
        if isinstance(recording_input, Run):
            paths += recording_input.inputs or (recording_input.recording.folder,)
        else:
            paths.append(Path(recording_input))
    return paths


def _side(inputs: Input | Sequence[Input]) -> list[Path]:
    if isinstance(inputs, builtins.str | Path | Run):
        return _paths_of([inputs])
    return _paths_of(inputs)
