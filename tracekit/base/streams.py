"""Standard output and error, guarded; text from outside, shown so that it has no other effect.

An escape sequence can retitle a terminal, write to its clipboard or hide text; a bidirectional mark
shows text in another order than it has. Standard output, standard error, logs, Markdown and pages
all use `visible`.

Nothing that is printed drives a terminal, a closed pipe is no failure, and a full disk is reported.
"""

import codecs
import io
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from tracekit.base.errors import RecordingError

# Controls but for tab and line feed, line separators, marks of direction and of no width, and
# lone surrogates.
_UNSEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Return the text with every invisible character as JSON writes it, such as `\u001b`.

    A JSON document stays valid by this, and keeps its values.
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def on_one_line(text: str) -> str:
    r"""Return the text as `visible` does, with tabs and line feeds as `\t` and `\n`."""
    return visible(text).replace("\t", "\\t").replace("\n", "\\n")


CLOSED = 141
"""The exit code where nobody reads standard output any more: that of SIGPIPE in a shell."""


class Guarded:
    """A standard stream whose text is shown by `visible`.

    Where standard output has no reader any more, the program ends with `CLOSED`. What cannot be
    written to standard error is dropped: the exit code still says how the command ended.
    """

    def __init__(
        self, stream: Any, clean: Callable[[Any], Any] = visible, *, error: bool = False
    ) -> None:
        """Take the stream, what its content is passed through, and whether it is stderr."""
        self._stream = stream
        self._clean = clean
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def rich_proxied_file(self) -> "Guarded":
        """The stream for rich, whose own sequences are meant: its texts were cleaned before."""
        return Guarded(self._stream, _as_it_is, error=self._error)

    @property
    def buffer(self) -> "Guarded":
        """The stream for bytes: as they are, but for what a terminal would show."""
        clean = _cleaned_bytes() if self._stream.isatty() else _as_it_is
        return Guarded(self._stream.buffer, clean, error=self._error)

    def write(self, content: Any) -> int:
        """Write text, or bytes to a `buffer`."""
        with self._working():
            self._stream.write(self._clean(content))
        return len(content)

    def writelines(self, lines: Iterable[Any]) -> None:
        """Write several."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Pass on what was written."""
        with self._working():
            self._stream.flush()

    @contextmanager
    def _working(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            self._abandon()
            if self._error:
                return
            if isinstance(error, BrokenPipeError):
                end_closed()
            raise RecordingError(
                f"The standard output cannot be written: {error.strerror}.",
                hint="Make room, or send it elsewhere.",
            ) from error

    def _abandon(self) -> None:
        """Let what is still held go nowhere, or Python would fail over it as it ends."""
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


def end_closed() -> NoReturn:
    """End the program as one whose output has no reader any more."""
    raise SystemExit(CLOSED)


@contextmanager
def guarded() -> Generator[None]:
    """Guard standard output and standard error; a stream that is closed becomes one to nowhere."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr, error=True)
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _guarded(stream: Any, *, error: bool = False) -> Any:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")  # a terminal may not have every letter
    return Guarded(stream, error=error)


def _as_it_is(content: Any) -> Any:
    return content


def _cleaned_bytes() -> Callable[[Any], bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return lambda content: visible(decoder.decode(bytes(content))).encode()
