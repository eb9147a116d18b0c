"""A kernel of a `.metal` file as a subject: what is launched stands on the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.errors import InputError, UsageError
from tracekit.base.files import open_input
from tracekit.base.tolerances import BOUNDS
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import without_comments
from tracekit.lab.msl.includes import with_includes
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.program import Program
from tracekit.lab.msl.signature import kernels_of
from tracekit.lab.msl.statistics import Order
from tracekit.lab.verification.buffers import Buffer, buffer, load_array
from tracekit.lab.verification.comparison import arrays
from tracekit.lab.verification.subject import PATIENCE, Answer, Launched, Source, Subject
from tracekit.lab.verification.words import constant, pairs, triple, whole

_LARGEST = 64_000_000  # bytes of a file to look at; a kernel that long is refused


@dataclass(frozen=True)
class Launch:
    """What a command line says of a launch, in its own words; each is checked when it is used.

    Attributes:
        function: Name of the kernel; "" for the only one of the file.
        template: Template arguments as Metal text.
        buffers: `NAME=DTYPE[SHAPE]` or `NAME=FILE.npy` for each buffer of the kernel.
        grid: Threads to launch: "X", "X,Y" or "X,Y,Z".
        threadgroup: Threads of a threadgroup, likewise.
        threadgroup_memory: `INDEX=BYTES` for each `[[threadgroup(INDEX)]]`.
        constants: `INDEX=VALUE` of function constants.
        defines: `NAME=TEXT` of macros.
        expected: `NAME=FILE.npy` of buffers.
        bound: Largest error allowed, relative; None to choose it by the buffer's dtype.
        includes: Folders of the files that the text includes.
        lenient: Whether some lanes may leave an operation of their simdgroup out, as Metal lets.
        patience: Seconds after which a launch is stopped.
    """

    function: str = ""
    template: str = ""
    buffers: tuple[str, ...] = ()
    grid: str = ""
    threadgroup: str = ""
    threadgroup_memory: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    bound: float | None = None
    lenient: bool = False
    patience: float = PATIENCE
    includes: tuple[str, ...] = ()


def metal_subject(file: Path, launch: Launch, seed: int) -> Subject:
    """Return the subject that a file and a command line describe.

    Raises:
        UsageError: The words do not fit the kernel, or it needs what a CPU has not.
        InputError: The file, or one with an array, cannot be read.
    """
    kernel = _kernel(file, launch)
    bound = {one.name: one for one in (buffer(words, seed=seed) for words in launch.buffers)}
    expected = pairs(launch.expected, "--expect")
    for name in expected:
        if name not in bound:
            raise UsageError(f"--expect {name}: there is no --buffer {name}.")
    runs = _Runs(kernel, bound, launch, seed, tuple(expected))
    return Subject(
        name=f"{file.name} {kernel.function}",
        parameters={},
        launch=runs.run,
        sources=lambda: (runs.source,),
        expected=arrays([load_array(Path(one)) for one in expected.values()]),
        bound=_bound(launch, [bound[name] for name in expected]),
    )


@dataclass(frozen=True, eq=False)
class _Runs:
    kernel: Kernel
    buffers: Mapping[str, Buffer]
    launch: Launch
    seed: int
    compared: tuple[str, ...]

    def run(self, order: Order, watched: bool) -> Answer:
        program = compile_kernel(self.kernel, checked=watched)
        written = self._written(program)
        contents = {
            name: one.poisoned() if name in written and not one.is_given else one.array.copy()
            for name, one in self.buffers.items()
        }
        memory = pairs(self.launch.threadgroup_memory, "--threadgroup-memory")
        statistics = program.run(
            contents,
            grid=triple(self.launch.grid, "--grid"),
            threadgroup=triple(self.launch.threadgroup, "--threadgroup"),
            order=order,
            seed=self.seed,
            lenient=self.launch.lenient,
            patience=self.launch.patience,
            threadgroup_bytes={whole(one): whole(size) for one, size in memory.items()},
        )
        told = [self.buffers[name].readable(contents[name]) for name in self.compared or written]
        return Answer(arrays(told), (Launched(self.source, statistics),))

    @property
    def source(self) -> Source:
        kernel = self.kernel
        return Source(
            kernel.file, kernel.function, kernel.template, kernel.text, kernel.origins,
            tuple(kernel.defines.items()),
        )  # fmt: skip

    def _written(self, program: Program) -> list[str]:
        """Return the buffers that the kernel may write to; refuse those that are missing."""
        needed = [one for one in program.parameters if one.kind == "buffer" and not one.condition]
        missing = [one.name for one in needed if one.name not in self.buffers]
        if missing:
            raise UsageError(
                f"{self.kernel.function} has buffers that are not given: {', '.join(missing)}.",
                hint=f"Add, for example, --buffer '{missing[0]}=float32[1024]'.",
            )
        strange = self.buffers.keys() - {one.name for one in program.parameters}
        if strange:
            raise UsageError(
                f"{self.kernel.function} has no buffer {min(strange)!r}.",
                hint=f"It has: {', '.join(one.name for one in needed)}.",
            )
        return [one.name for one in needed if one.writable]


def _kernel(file: Path, launch: Launch) -> Kernel:
    with open_input(file) as opened:
        content = opened.read(_LARGEST)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{file} cannot be read as text: {error}.") from error
    text, origins = with_includes(text, file, [Path(folder) for folder in launch.includes])
    constants = pairs(launch.constants, "--constant")
    return Kernel(
        text=text,
        function=launch.function or _only_kernel(file, text),
        template=launch.template,
        name=file.name,
        constants={whole(index): constant(value) for index, value in constants.items()},
        defines=pairs(launch.defines, "--define"),
        origins=origins,
    )


def _only_kernel(file: Path, text: str) -> str:
    names = list(dict.fromkeys(kernels_of(without_comments(text))))
    if len(names) == 1:
        return names[0]
    if not names:
        raise InputError(
            f"{file} has no kernel function.",
            hint="A text for mx.fast.metal_kernel is a body only: write a FILE.py with @check.",
        )
    raise UsageError(
        f"{file} has {len(names)} kernels: {', '.join(names)}.",
        hint="Choose one with --function.",
    )


def _bound(launch: Launch, compared: Sequence[Buffer]) -> float:
    if launch.bound is not None:
        return launch.bound
    least = BOUNDS["float32"]
    return max([BOUNDS.get(one.dtype, least) for one in compared], default=least)
