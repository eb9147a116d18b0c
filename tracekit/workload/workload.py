"""Work to record: a function that prepares it, and the step that is repeated and measured.

A workload is a file with one decorated function. Its parameters, with their types, defaults
and help, are the options of `tracekit capture --workload NAME`:

    @workload
    def gemm(size: Annotated[int, typer.Option(min=1, help="Rows and columns.")] = 1024) -> Step:
        '''Multiply two square matrices.'''
        a, b = ...
        return Step(submit=lambda: mx.matmul(a, b), ...)
"""

import importlib.util
import inspect
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, get_args, get_origin

import msgspec

from tracekit.base.errors import InputError, UsageError, nearest
from tracekit.base.files import shipped
from tracekit.workload.step import Step

__all__ = ["Step", "Workload", "all_workloads", "find", "folders", "load", "workload"]

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
        return (inspect.getdoc(self.prepare) or "").partition("\n")[0]

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The function's parameters: what a user may choose."""
        return inspect.signature(self.prepare, eval_str=True).parameters

    def bind(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Turn values as JSON or a command line knows them into the function's own types.

        Bounds that a parameter states in `typer.Option(min=…, max=…)` hold here too.

        Raises:
            UsageError: A name is unknown or missing, or a value does not fit its type or bounds.
        """
        parameters = self.parameters
        for name in given:
            if name not in parameters:
                raise UsageError(
                    f"The workload {self.name} has no parameter {name!r}.",
                    hint=nearest(name, parameters, otherwise=_has(parameters)),
                )
        for name, parameter in parameters.items():
            if parameter.default is parameter.empty and name not in given:
                raise UsageError(f"The workload {self.name} needs {_option(name)}.")
        return {name: _converted(parameters[name], value) for name, value in given.items()}

    def make(self, given: Mapping[str, Any]) -> Step:
        """Prepare the workload and return its step.

        Raises:
            UsageError: A name is unknown or missing, or a value does not fit its type or bounds.
            InputError: The function returns something else than a step.
        """
        step: Any = self.prepare(**self.bind(given))
        if not isinstance(step, Step):
            raise InputError(
                f"The workload {self.name} returned {step!r}, which is no Step.",
                hint=f"End the function in {self.file} with `return Step(submit=…, wait=…, …)`.",
            )
        return step


_MARK = "__tracekit_workload__"


def workload(prepare: Prepare) -> Prepare:
    """Mark the function of a file that prepares its workload; the function's name is its name."""
    setattr(prepare, _MARK, prepare.__name__)
    return prepare


def folders(extra: Path | None = None) -> tuple[Path, ...]:
    """Return the folders that are searched for workloads, a user's own first."""
    return (shipped("workloads"),) if extra is None else (extra, shipped("workloads"))


def find(name: str, extra: Path | None = None) -> Workload:
    """Load the workload `name`; raise UsageError where no searched folder has it."""
    for folder in folders(extra):
        file = folder / f"{name.replace('-', '_')}.py"
        if file.is_file():
            return load(file)
    files = [file.stem for folder in folders(extra) for file in _files(folder)]
    names = sorted({"command", *(one.replace("_", "-") for one in files)})
    more = f"There are: {', '.join(names)}. `--workloads DIR` adds a folder of your own."
    raise UsageError(f"There is no workload {name!r}.", hint=nearest(name, names, otherwise=more))


def all_workloads(extra: Path | None = None) -> list[Workload]:
    """Load every workload of the searched folders; of one name, a user's own counts.

    A file that cannot be loaded is told as a warning and left out.
    """
    found: dict[str, Workload] = {}
    for folder in folders(extra):
        for file in _files(folder):
            try:
                loaded = load(file)
            except InputError as error:
                log.warning("%s", error.message)
                continue
            found.setdefault(loaded.name, loaded)
    return sorted(found.values(), key=lambda one: one.name)


def load(file: Path) -> Workload:
    """Load the one workload of `file`; raise InputError where it has none, or several."""
    module = _execute(file)
    marked = [value for value in vars(module).values() if hasattr(value, _MARK)]
    if len(marked) != 1:
        raise InputError(
            f"{file} has {len(marked)} functions marked @workload; it must have one.",
            hint="from tracekit import workload; then write @workload above the function.",
        )
    return Workload(getattr(marked[0], _MARK).replace("_", "-"), file, marked[0])


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _has(parameters: Iterable[str]) -> str:
    return f"It has: {', '.join(parameters) or 'none'}."


def _converted(parameter: inspect.Parameter, value: Any) -> Any:
    kind: Any = Any if parameter.annotation is parameter.empty else parameter.annotation
    bounds: tuple[Any, ...] = ()
    if get_origin(kind) is Annotated:
        kind, *rest = get_args(kind)
        bounds = tuple(rest)
    option = _option(parameter.name)
    try:
        converted = msgspec.convert(value, kind, strict=False, dec_hook=_build)
    except msgspec.ValidationError as error:
        raise UsageError(f"{option} cannot be {value!r}: {error}.") from None
    for bound in bounds if converted is not None else ():
        least, most = getattr(bound, "min", None), getattr(bound, "max", None)
        if least is not None and converted < least:
            raise UsageError(f"{option} must be at least {least}; it is {converted}.")
        if most is not None and converted > most:
            raise UsageError(f"{option} must be at most {most}; it is {converted}.")
    return converted


def _build(kind: type, value: Any) -> Any:
    return kind(value)


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(file for file in folder.glob("*.py") if not file.stem.startswith("_"))


def _execute(file: Path) -> ModuleType:
    name = f"tracekit.workloads.{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"The workload {file} cannot be loaded: {error!r}.") from error
    return module
