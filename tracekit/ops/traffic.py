"""What a call must move and compute."""

from dataclasses import dataclass

from tracekit.workload.workload import Work


@dataclass(frozen=True)
class Traffic:
    """Bytes and floating-point operations of one call.

    `read` counts every access, `unique` each byte once: the first is what caches see, the
    second what memory must deliver.
    """

    read: int
    unique: int
    written: int
    flops: int

    @property
    def intensity(self) -> float:
        """Floating-point operations for each byte that memory must move."""
        return self.flops / (self.unique + self.written)

    def work(self, tokens: int, dispatches: int | None = None) -> Work:
        """Return the work of a step that is one such call, and produces so many tokens."""
        return Work(tokens, self.read, self.unique, self.written, self.flops, dispatches)
