"""Work to record: a function that prepares it, the step that is repeated, and its reports.

Times are nanoseconds of the system-wide monotonic clock (`time.monotonic_ns`).

A workload is a decorated function, and has its name. The function's parameters, with their types,
defaults and help, are the options of `tracekit capture --workload NAME`:

    @workload
    def gemm(size: Annotated[int, typer.Option(min=1, help="Rows and columns.")] = 1024) -> Step:
        '''Multiply two square matrices.'''
        a, b = ...
        return Step(submit=lambda: mx.matmul(a, b), ...)
"""

import importlib.util
import inspect
import logging
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from tracekit.base import InputError, UsageError, files, suggest_name

IDLE = "idle"
"""Variant of a step, and name of a span, in which there was nothing to do: load was absent."""
COMPILE = "compile"
"""Name of a span in which a pipeline was made."""
READBACK = "readback"
"""Name of a span in which results were read back: the host waited for them and used them."""
WALL_TIME = "wall_time"
"""The result with the duration of a program, from its start to its exit."""
REFERENCE = "reference"
"""Name of a gauge, in ns: the time of fixed work at that moment, which shows the machine's pace.

Also the name of the span in which a worker did such work of its own, between steps: it belongs to
no step, and cannot be saved."""
OWN_REFERENCE = "tracekit"
"""The beginning of that gauge's source if the worker did the work, not the workload."""


@dataclass(frozen=True)
class Measured:
    """A workload's own measurement; None, with the reason, if it failed.

    Units are those of metrics: "ns", "bytes", "ratio", "count", "tokens/s" … ; `better` is the
    direction of an improvement. `samples` are the single repetitions of which the value is the
    mean or the median, in order; `deviation` is their standard deviation, if it alone is known.
    """

    value: float | None
    unit: str = ""
    better: Literal["lower", "higher", "neither"] = "neither"
    reason: str = ""
    samples: tuple[float, ...] = ()
    deviation: float | None = None


@dataclass(frozen=True)
class Span:
    """An activity of the host inside a step, such as "admit" or "prefill"."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Gauge:
    """A level at one moment, such as the blocks in use; `source` is its reader."""

    name: str
    value: float
    at: int
    unit: str = ""
    source: str = "workload"


@dataclass(frozen=True)
class Request:
    """One request to a server, served or not."""

    number: int  # its place in the schedule, from 0
    scheduled: int  # when it was to arrive; latencies count from here, however late it was seen
    prompt_tokens: int
    output_tokens: int  # tokens that it asked for
    admitted: int | None = None  # when it got its blocks; None if it never did
    tokens: tuple[int, ...] = ()  # when each of its tokens was there; the last one completes it
    # "unfinished" when the time was up
    state: Literal["completed", "unfinished", "rejected"] = "unfinished"
    reason: str = ""  # why it was rejected


@dataclass(frozen=True)
class Memory:
    """How much memory the workload's process had of one sort when a phase was over."""

    phase: str  # "baseline", before the workload was loaded, or the phase that was over
    what: str  # "resident", "mlx_active", "mlx_peak" … : see the table `memory_profile`
    bytes: int | None  # None if it cannot be known
    at: int  # when it was read
    reason: str = ""  # why it cannot be known


@dataclass(frozen=True)
class StepReport:
    """A step's own report once it is complete."""

    # which of several things that are compared this step was, such as "paged" or "sdpa"; empty
    # where all steps are alike; `IDLE` if it only waited for load
    variant: str = ""
    tokens: int | None = None  # tokens that it produced, if that differs from step to step
    spans: Sequence[Span] = ()  # activities of the host in it
    gauges: Sequence[Gauge] = ()  # levels in it; a level holds until it is reported again
    requests: Sequence[Request] = ()  # requests that it completed or rejected


@dataclass(frozen=True)
class Work:
    """The known work of one step of a variant; units as of `Step`."""

    tokens: int = 0
    bytes_read: int = 0
    bytes_unique: int = 0
    bytes_written: int = 0
    flops: int = 0
    dispatches: int | None = None


# The value that `submit` hands to `wait`: arrays of MLX, or those of another device's library.
Submitted = Any

Results = Mapping[str, float | Measured]


def _do_nothing() -> None:
    pass


@dataclass(frozen=True)
class KernelLaunch:
    """A launch of a kernel that a step makes: its function as Metal knows it, sizes in threads.

    `arguments` are the names of the arrays that MLX binds as buffers in device memory.
    """

    function: str
    grid: tuple[int, int, int]
    threadgroup: tuple[int, int, int]
    arguments: tuple[str, ...] = ()


NotingLaunches = Callable[[], AbstractContextManager[Mapping[KernelLaunch, None]]]
"""Return a context; the launches that are made in it become keys of its mapping."""


def _note_nothing() -> AbstractContextManager[Mapping[KernelLaunch, None]]:
    return nullcontext(dict[KernelLaunch, None]())


@dataclass(frozen=True)
class Step:
    """The unit of work that is repeated and measured."""

    submit: Callable[[], Submitted]  # build the work and hand it over, without waiting for it
    wait: Callable[[Submitted], None]  # block until the submitted work is complete
    backend: str  # the device of the work: "metal", "cpu", or "gpu" for another one of MLX's
    tokens: int = 0  # tokens that one step produces; 0 if the word has no meaning
    bytes_read: int = 0  # bytes that one step must read, counting every access
    bytes_unique: int = 0  # bytes that one step must read from memory, each one counted once
    bytes_written: int = 0  # bytes that one step writes
    flops: int = 0  # floating-point operations of one step
    dispatches: int | None = None  # GPU dispatches to expect in one step; None: not known
    # names of the pipelines that the workload has made so far
    specializations: Callable[[], frozenset[str]] = frozenset
    # notes the launches of the workload's own kernels, which a GPU frame capture should hold
    noting_launches: NotingLaunches = _note_nothing
    # other measurements of the preparation, such as the workload's error
    results: Results = field(default_factory=dict[str, float | Measured])
    # the work of a step of each variant, if several variants are compared; the numbers
    # above then say nothing
    variants: Mapping[str, Work] = field(default_factory=dict[str, Work])
    # called when a step is complete: its report; the time of the call counts for no step
    tell: Callable[[], StepReport] | None = None
    begin: Callable[[], None] = _do_nothing  # called when the steady phase begins
    exhausted: Callable[[], bool] = bool  # whether nothing is left to do, though there is time
    # called when the steady phase is over: the workload's measurements in it
    finish: Callable[[], Results] = dict[str, float | Measured]
    # called after that: the rest of the report, such as requests that are not complete
    leave: Callable[[], StepReport] = StepReport

    def __post_init__(self) -> None:
        """Raise InputError for values that no account could hold."""
        for work_field in fields(Work):
            name = work_field.name
            value: Any = getattr(self, name)
            if value is None and name == "dispatches":
                continue
            if not isinstance(value, int) or not 0 <= value < 2**63:
                raise InputError(
                    f"The {name} of a step must be a whole number of at least 0; it is {value!r}."
                )
        normalize_results(self.results)


def normalize_results(results: Results) -> dict[str, Measured]:
    """Return results by name, plain numbers as `Measured`; raise InputError for anything else."""
    return {name: _normalize_result(name, value) for name, value in results.items()}


def _normalize_result(name: str, value: Any) -> Measured:
    result: Measured = value if isinstance(value, Measured) else Measured(value)
    if result.value is None and result.reason:
        return result
    if not isinstance(result.value, int | float):
        raise InputError(f"The result {name!r} of a step must be a number; it is {value!r}.")
    try:
        is_finite = math.isfinite(result.value)
    except OverflowError as error:
        raise InputError(f"The result {name!r} of a step is too large for a number.") from error
    if not is_finite:
        return replace(result, value=None, reason=f"it is {result.value}")
    return result


log = logging.getLogger(__name__)

Prepare = Callable[..., Step]


@dataclass(frozen=True)
class Workload:
    """Work to record: its name, the file it comes from and the function that prepares it."""

    name: str
    file: Path
    prepare: Prepare

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        docstring = inspect.getdoc(self.prepare) or ""
        return docstring.partition("\n")[0]

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The function's parameters: the user's choices."""
        return inspect.signature(self.prepare, eval_str=True).parameters

    def bind(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Turn values as JSON or a command line knows them into the function's own types.

        Bounds that a parameter states in `typer.Option(min=…, max=…)` hold here too, for each value
        of a list. Raises UsageError if a name is unknown or missing, or a value does not fit.
        """
        parameters = self.parameters
        parameter_list = f"It has: {', '.join(parameters) or 'none'}."
        for name in values:
            if name not in parameters:
                raise UsageError(
                    f"The workload {self.name} has no parameter {name!r}.",
                    hint=suggest_name(name, parameters, otherwise=parameter_list),
                )
        for name, parameter in parameters.items():
            if parameter.default is parameter.empty and name not in values:
                raise UsageError(f"The workload {self.name} needs {_option(name)}.")
        return {name: _convert_value(parameters[name], value) for name, value in values.items()}

    def make(self, values: Mapping[str, Any]) -> Step:
        """Prepare the workload and return its step; raise as `bind`, and InputError for no step."""
        step: Any = self.prepare(**self.bind(values))
        if not isinstance(step, Step):
            raise InputError(
                f"The workload {self.name} returned {step!r}, which is not a Step.",
                hint=f"End the function in {self.file} with `return Step(submit=…, wait=…, …)`.",
            )
        return step


_MARK = "__tracekit_workload__"


def workload(prepare: Prepare) -> Prepare:
    """Mark a function that prepares a workload; the function's name, with dashes, is its name."""
    setattr(prepare, _MARK, prepare.__name__)
    return prepare


def folders(extra: Path | None = None) -> tuple[Path, ...]:
    """Return the folders that are searched for workloads, a user's own first.

    Raise UsageError if a user's own does not exist.
    """
    if extra is not None and not extra.is_dir():
        raise UsageError(
            f"{extra} is not a folder.", hint="Name the folder of your workloads, not a file of it."
        )
    shipped_folder = files.find_shipped_folder("workloads")
    if extra is None:
        return (shipped_folder,)
    return (extra, shipped_folder)


def find(name: str, extra: Path | None = None) -> Workload:
    """Load the workload `name`; raise UsageError if no searched folder has it.

    In a folder, the file of the same name is loaded first, the others only if need be.
    """
    wanted_name = name.replace("_", "-")
    for folder in folders(extra):
        entry = _find_in_folder(folder, wanted_name)
        if entry is not None:
            return entry
    entries = all_workloads(extra)
    raise UsageError(f"There is no workload {name!r}.", hint=_hint_of(wanted_name, entries))


def _find_in_folder(folder: Path, wanted_name: str) -> Workload | None:
    file = folder / f"{_file_stem(wanted_name)}.py"
    if file.is_file():
        file_entries = {entry.name: entry for entry in load_all(file)}
        if wanted_name in file_entries:
            return file_entries[wanted_name]
    return _workloads_in(folder, without=file).get(wanted_name)


def _file_stem(name: str) -> str:
    """Return the stem of the file that has the name of a workload."""
    return name.replace("-", "_")


def _hint_of(wanted_name: str, entries: Sequence[Workload]) -> str:
    """Suggest the workload that may have been meant; the name may be one of a file."""
    wanted_stem = _file_stem(wanted_name)
    names_in_file = [entry.name for entry in entries if entry.file.stem == wanted_stem]
    if names_in_file:
        return f"The file of that name has: {', '.join(names_in_file)}."
    entry_names = [entry.name for entry in entries]
    names = sorted({"command", *entry_names})
    more = f"There are: {', '.join(names)}. `--workloads DIR` adds a folder of your own."
    return suggest_name(wanted_name, names, otherwise=more)


def all_workloads(extra: Path | None = None) -> list[Workload]:
    """Load every workload of the searched folders; of one name, a user's own counts.

    A file that cannot be loaded is logged as a warning and left out.
    """
    workloads: dict[str, Workload] = {}
    for folder in folders(extra):
        folder_workloads = _workloads_in(folder)
        if not folder_workloads:
            log.warning("There is no workload in %s: it is a function marked @workload.", folder)
        workloads = folder_workloads | workloads
    return sorted(workloads.values(), key=lambda entry: entry.name)


def _workloads_in(folder: Path, *, without: Path | None = None) -> dict[str, Workload]:
    """Load the workloads of a folder, by name; of one name, that of the file of the same name."""
    workloads: dict[str, Workload] = {}
    for file in _files(folder):
        if file == without:
            continue
        try:
            entries = load_all(file)
        except InputError as error:
            log.warning("%s", error.message)
            continue
        for entry in entries:
            earlier_entry = workloads.setdefault(entry.name, entry)
            if earlier_entry is entry:
                continue
            if file.stem == _file_stem(entry.name):
                workloads[entry.name] = entry
            chosen = workloads[entry.name].file.name
            log.warning(
                "%s is in %s and in %s; that of %s counts",
                entry.name, earlier_entry.file.name, file.name, chosen,
            )  # fmt: skip
    return workloads


def load(file: Path, name: str = "") -> Workload:
    """Load the workload `name` of `file`, without a name its only one; raise InputError."""
    entries = load_all(file)
    chosen = [entry for entry in entries if name in {"", entry.name}]
    if len(chosen) != 1:
        names = ", ".join(entry.name for entry in entries)
        raise InputError(f"{file} has the workloads {names}, not just {name or 'one'}.")
    return chosen[0]


def load_all(file: Path) -> list[Workload]:
    """Load the workloads of `file`, in its order; raise InputError if it has none."""
    marked = load_marked(file, "workload", _MARK)
    if not marked:
        raise InputError(
            f"{file} has no function marked @workload.",
            hint="Write `from tracekit.workload import Step, workload`, and @workload above the "
            "function.",
        )
    functions_by_name: dict[str, Prepare] = {}
    for prepare in marked:
        name = getattr(prepare, _MARK).replace("_", "-")
        functions_by_name[name] = prepare
    if len(functions_by_name) != len(marked) or "<lambda>" in functions_by_name:
        raise InputError(
            f"{file} has workloads without a name of their own: {', '.join(functions_by_name)}."
        )
    return [Workload(name, file, prepare) for name, prepare in functions_by_name.items()]


def load_marked(file: Path, decorator: str, mark: str) -> list[Callable[..., Any]]:
    """Load a file, and return its own functions that have the attribute `mark`, in its order.

    `decorator` is the name of the decorator that marks them; functions that the file imports are
    not its own. Raise InputError if it cannot be loaded.
    """
    name = f"tracekit.{decorator}s.{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"The {decorator} {file} cannot be loaded: {error!r}.") from error
    values = vars(module).values()
    marked = [value for value in values if hasattr(value, mark)]
    distinct_values = dict.fromkeys(marked)
    return [value for value in distinct_values if not _is_imported(value, name)]


def _is_imported(function: Callable[..., Any], module: str) -> bool:
    """Tell whether a function of a module is one that can be imported from another."""
    if function.__module__ == module:
        return False
    home = sys.modules.get(function.__module__)
    name = getattr(function, "__name__", "")
    return getattr(home, name, None) is function


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _convert_value(parameter: inspect.Parameter, value: Any) -> Any:
    kind: Any = parameter.annotation
    if kind is parameter.empty:
        kind = Any
    bounds: list[Any] = []
    if get_origin(kind) is Annotated:
        kind, *bounds = get_args(kind)
    option = _option(parameter.name)
    try:
        converted = msgspec.convert(
            value, kind, strict=False, dec_hook=lambda kind, value: kind(value)
        )
    except msgspec.ValidationError as error:
        raise UsageError(f"{option} cannot be {value!r}: {error}.") from None
    if converted is None:
        return None
    values: list[Any] = [converted]
    if isinstance(converted, list | tuple):
        values = list(converted)
    for bound in bounds:
        _require_within(option, values, bound)
    return converted


def _require_within(option: str, values: Sequence[Any], bound: Any) -> None:
    """Raise UsageError unless all values lie within the bounds of a parameter's `typer.Option`."""
    minimum = getattr(bound, "min", None)
    maximum = getattr(bound, "max", None)
    for value in values:
        # NaN compares as False, so that it lies within no bound.
        if minimum is not None and not value >= minimum:
            raise UsageError(f"{option} must be at least {minimum}; it is {value}.")
        if maximum is not None and not value <= maximum:
            raise UsageError(f"{option} must be at most {maximum}; it is {value}.")


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that can have workloads: loading a file runs it."""
    for file in sorted(folder.glob("*.py")):
        if not file.stem.startswith("_") and file.is_file() and b"workload" in file.read_bytes():
            yield file
