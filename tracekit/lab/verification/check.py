"""Requirements for a kernel: `@check` above a function that makes inputs; run on this CPU.

    @check
    def doubled(size: Annotated[int, typer.Option(min=1, help="Elements.")] = 1000) -> Check:
        '''Double an array.'''
        a = mx.random.normal((size,))
        return Check(run=lambda: double(a), expected=2 * np.array(a, np.float64), bound=1e-6)

Its parameters are options of `tracekit kernel verify FILE.py`.
"""

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from numbers import Real
from pathlib import Path
from typing import Any, cast, overload

import mlx.core as mx
import numpy as np

from tracekit.base import InputError, TracekitError, UsageError, files
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.emulation import emulation, generated
from tracekit.lab.msl.program import ThreadOrder
from tracekit.lab.verification.verify import PATIENCE, KernelOutput, VerifiedCase, arrays
from tracekit.workload import NeighbourModules, load_marked

_MARK = "__tracekit_check__"


@dataclass(frozen=True, eq=False)
class Check:
    """Inputs that are ready, the code to run on them, and the expected result.

    Attributes:
        run: Calls the code that launches the kernels, and returns an array of MLX's or several.
        expected: The array or arrays that must come out; best computed in float64.
        bound: The largest error that is allowed, as a share of the largest magnitude expected of
            that array.
        loaded: Bytes that all launches load of a buffer together, by the buffer's name in the
            kernel; they must be met exactly. Buffers that are not named are not judged.
    """

    run: Callable[[], Any]
    expected: Any
    bound: float
    loaded: Mapping[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        """Refuse a bound that no error can be compared with."""
        bound: Any = self.bound
        if not isinstance(bound, Real) or not 0 <= float(bound) < math.inf:
            raise UsageError(
                f"The bound of a check must be a number of at least 0; it is {bound!r}.",
                hint="It is the largest error allowed, relative: bound=1e-5.",
            )


Make = Callable[..., Check]


@dataclass(frozen=True)
class Declared:
    """A function marked `@check`, by its name with dashes.

    All values of the parameters in `choices` are tried, unless one is chosen. `neighbours` are
    modules that the file imports.
    """

    name: str
    file: Path
    make: Make
    choices: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    neighbours: NeighbourModules = field(default_factory=NeighbourModules)

    def cases(self, chosen_values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the parameters of every case: each choice that `chosen_values` leaves open."""
        open_names = [name for name in self.choices if name not in chosen_values]
        open_values = [self.choices[name] for name in open_names]
        cases: list[dict[str, Any]] = []
        for values in product(*open_values):
            named_values = zip(open_names, values, strict=True)
            case: dict[str, Any] = dict(named_values)
            case.update(chosen_values)
            cases.append(case)
        return cases

    def check(self, parameters: Mapping[str, Any]) -> Check:
        """Make inputs and expectation; raise InputError if the function returns no Check."""
        result: Any = self.make(**parameters)
        if not isinstance(result, Check):
            raise InputError(
                f"The check {self.name} returned {type(result).__name__}, which is not a Check.",
                hint=f"End the function in {self.file} with `return Check(run=…, expected=…, "
                "bound=…)`.",
            )
        return result


@overload
def check(make: Make, /) -> Make: ...
@overload
def check(*, each: Mapping[str, Sequence[Any]]) -> Callable[[Make], Make]: ...
def check(
    make: Make | None = None, /, *, each: Mapping[str, Sequence[Any]] | None = None
) -> Make | Callable[[Make], Make]:
    """Mark the function of a file that defines the requirements for its kernel.

    `each` gives values of parameters that are all tried, unless the command line chooses one:
    `@check(each={"dtype": ("float16", "float32")})`.
    """

    def mark(function: Make) -> Make:
        setattr(function, _MARK, dict(each or {}))
        return function

    if make is None:
        return mark
    return mark(make)


def declared_by(
    make: Make, name: str, file: Path, neighbours: NeighbourModules | None = None
) -> Declared:
    """Return the check that a function marked `@check` declares."""
    marked = getattr(make, _MARK)
    return Declared(name, file, make, marked, neighbours or NeighbourModules())


def load(file: Path) -> Declared:
    """Load the one check of `file`; raise InputError if it has none, or several.

    Kernels that the file makes at its top run on the CPU as well.
    """
    files.open_input(file).close()
    neighbours = NeighbourModules([file.parent])
    with neighbours.importing(), emulation():
        marked = load_marked(file, "check", _MARK)
    if len(marked) != 1:
        raise InputError(
            f"{file} has {len(marked)} functions marked @check; it must have one.",
            hint="Write `from tracekit.lab import Check, check`, and @check above the function.",
        )
    [make] = marked
    return declared_by(make, make.__name__.replace("_", "-"), file, neighbours)


def check_subjects(
    declared: Declared,
    chosen_values: Mapping[str, Any],
    seed: int,
    *,
    lenient: bool = False,
    patience: float = PATIENCE,
) -> Iterator[VerifiedCase]:
    """Yield every case of a check, made when its turn comes.

    MLX's and numpy's generators start at `seed`, so that every run has the same inputs, and return
    to their former state at the end. `lenient` and `patience` are those of `emulation`. Raises
    InputError if the check's function fails, or returns no check.
    """
    how = {"seed": seed, "lenient": lenient, "patience": patience}
    with _numbers_kept():
        for case in declared.cases(chosen_values):
            mx.random.seed(seed)
            np.random.seed(seed % 2**32)  # noqa: NPY002  a user's check may draw from it
            with emulation(), _blaming(declared):
                check = declared.check(case)
                expected = arrays(check.expected)
            runs = _KernelRuns(declared, check, how)
            yield VerifiedCase(
                declared.name, case, runs.launch, runs.sources, expected, check.bound, check.loaded
            )


@contextmanager
def _numbers_kept() -> Generator[None]:
    """Restore the generators of MLX and numpy at the end, for the program around us."""
    random_state = cast("Any", mx.random.state)
    high_half, low_half = random_state[0].tolist()
    numpy_state = np.random.get_state()  # noqa: NPY002  as above
    try:
        yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002  as above
        mx.random.seed(high_half << 32 | low_half)  # the halves of a seed are MLX's key


@dataclass(frozen=True, eq=False)
class _KernelRuns:
    declared: Declared
    check: Check
    how: Mapping[str, Any]

    def launch(self, order: ThreadOrder, watched: bool) -> KernelOutput:
        emulated = emulation(order=order, checked=watched, **self.how)
        with emulated as launches, _blaming(self.declared):
            got = arrays(self.check.run())
        if not launches:
            raise InputError(
                f"The check {self.declared.name} launches no kernel.",
                hint="Call a kernel of mx.fast.metal_kernel in `run`.",
            )
        return KernelOutput(got, tuple(launches))

    def sources(self) -> list[KernelText]:
        with _blaming(self.declared):
            return [source.kernel for source in generated(self.check.run)]


@contextmanager
def _blaming(declared: Declared) -> Generator[None]:
    """Report an error of a user's own code as a mistake of the check, not as a bug of tracekit."""
    try:
        with declared.neighbours.importing():
            yield
    except TracekitError:
        raise
    except Exception as error:
        raise InputError(f"The check {declared.name} fails: {error!r}.") from error
