"""The two pipes of a running process, drained without threads, handed on line by line."""

import os
import selectors
import time
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Self

_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 20
_LONGEST_REST = 2.0


class OutputLines:
    """Reads several pipes as they fill; each is known by a name."""

    def __init__(self, **pipes: IO[bytes]) -> None:
        self._pipes = pipes
        self._rests = dict.fromkeys(pipes, b"")
        self._selector = selectors.DefaultSelector()
        for name, pipe in pipes.items():
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._selector.close()
        for pipe in self._pipes.values():
            pipe.close()

    def read(self, timeout: float) -> Iterator[tuple[str, str]]:
        """Yield name and line of what came within `timeout` seconds, at the latest."""
        for key, _ in self._selector.select(timeout):
            yield from self._read_chunk(key)

    def rest(self) -> Iterator[tuple[str, str]]:
        """Yield what is left of a process that has ended, and does not wait for its children."""
        end = time.monotonic() + _LONGEST_REST
        while (keys := self._selector.select(0)) and time.monotonic() < end:
            for key, _ in keys:
                yield from self._read_chunk(key)
        for name, rest in self._rests.items():
            if rest:
                yield name, rest.decode("utf-8", "replace")
        self._rests = dict.fromkeys(self._pipes, b"")

    @property
    def open(self) -> bool:
        """Tell whether any pipe may still bring something."""
        return bool(self._selector.get_map())

    def _read_chunk(self, key: selectors.SelectorKey) -> Iterator[tuple[str, str]]:
        name: str = key.data
        try:
            chunk = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._selector.unregister(key.fileobj)
        *lines, rest = (self._rests[name] + chunk).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            lines, rest = [*lines, rest], b""
        self._rests[name] = rest
        for line in lines:
            yield name, line.decode("utf-8", "replace")
