"""One kernel to compile, and what can be wrong with it."""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from tracekit.base import UsageError

Constant = int | float | bool

LONGEST_TEXT = 4_000_000  # characters; MLX's longest kernel file has about 100 000


@dataclass(frozen=True)
class Origin:
    """Where lines of a text stood before it was put together.

    Attributes:
        first: The first such line of the text, from 1; they reach to the next origin.
        file: The file that they come from.
        line: The line of that file which `first` was.
    """

    first: int
    file: str
    line: int


@dataclass(frozen=True)
class Kernel:
    """A kernel as text, and the choices that make it one program.

    Attributes:
        text: Metal source: as MLX generates it, or a `.metal` file with `[[kernel]]` functions.
        function: Name of the kernel function, or a `host_name` that the text gives it.
        template: Template arguments as Metal text, such as "float16_t, 128"; "" for none.
        name: What messages call the file; "<function>.metal" by default.
        constants: Values of function constants, by their index.
        defines: Macros, as `-D` gives them to a compiler.
        origins: In order, files that the text was put together from; none where it is one file.

    Raises:
        UsageError: A name that is none, or a text too large to be a kernel.
    """

    text: str
    function: str
    template: str = ""
    name: str = ""
    constants: Mapping[int, Constant] = field(default_factory=dict[int, Constant])
    defines: Mapping[str, str] = field(default_factory=dict[str, str])
    origins: tuple[Origin, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no compiler could take."""
        if len(self.text) > LONGEST_TEXT:
            raise UsageError(
                f"{self.file} has {len(self.text)} characters; a kernel may have {LONGEST_TEXT}."
            )
        if "\0" in self.text:
            raise UsageError(f"{self.file} holds a NUL character: it is no Metal source.")
        for name in self.defines:
            if not re.fullmatch(r"[A-Za-z_]\w*(\([\w, .]*\))?", name):
                raise UsageError(f"{name!r} cannot be the name of a macro.")

    def where(self, line: int) -> tuple[str, int]:
        """Return the file, and its line, that a line of the text comes from."""
        at = bisect_right([origin.first for origin in self.origins], line) - 1
        if at < 0:
            return self.file, line
        origin = self.origins[at]
        return origin.file, origin.line + line - origin.first

    @property
    def file(self) -> str:
        """What messages call the file."""
        return self.name or f"{self.function}.metal"
