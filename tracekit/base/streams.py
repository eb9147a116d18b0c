"""Standard output and error, guarded; text from outside, shown without any other effect.

An escape sequence can retitle a terminal, write to its clipboard or hide text; a bidirectional mark
shows text in another order than it has. Standard output, standard error, logs, Markdown and pages
all use `visible`.

Printed text never controls a terminal, a closed pipe is not a failure, and a full disk is reported.
"""

import codecs
import io
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from typing import Any, NoReturn

from tracekit.base.errors import RecordingError
from tracekit.base.system import flags

# Controls except tab and line feed, line separators, marks of direction and of no width, and lone
# surrogates.
_UNSEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Return the text with every invisible character as JSON writes it, such as `\u001b`.

    A JSON document stays valid, and keeps its values.
    """
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def on_one_line(text: str) -> str:
    r"""Return the text as `visible` does, with tabs and line feeds as `\t` and `\n`."""
    return visible(text).replace("\t", "\\t").replace("\n", "\\n")


CLOSED = 141
"""The exit code once standard output has no reader any more: that of SIGPIPE in a shell."""


class Guarded:
    """A standard stream whose text is shown by `visible`.

    Once standard output has no reader any more, the program ends with `CLOSED`. Text that cannot be
    written to standard error is dropped: the exit code still reports the outcome.
    """

    def __init__(
        self,
        stream: Any,
        clean: Callable[[Any], Any] = visible,
        *,
        error: bool = False,
        afterwards: ExitStack | None = None,
    ) -> None:
        """Guard a stream, whose content passes through `clean`; `error` if it is stderr.

        `afterwards` restores a descriptor that was redirected.
        """
        self._stream = stream
        self._clean = clean
        self._error = error
        self._afterwards = afterwards or ExitStack()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def rich_proxied_file(self) -> "Guarded":
        """The stream for rich, whose own sequences are meant: its texts were cleaned before."""
        return self._wrap_stream(self._stream, _as_it_is)

    @cached_property
    def buffer(self) -> "Guarded":
        """The stream for bytes: as they are, except on a terminal.

        It is one stream, because a character may be written in two parts.
        """
        clean = _cleaned_bytes() if self._stream.isatty() else _as_it_is
        return self._wrap_stream(self._stream.buffer, clean)

    def _wrap_stream(self, stream: Any, clean: Callable[[Any], Any]) -> "Guarded":
        return Guarded(stream, clean, error=self._error, afterwards=self._afterwards)

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
        """Pass on the written content."""
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
        """Discard all output until the command ends, and the buffered text for good.

        Python would fail to flush it at exit, and the next command of this process would print it.
        """
        with suppress(OSError, ValueError):
            number = self._stream.fileno()
            saved_descriptor = os.dup(number)
            is_inherited = os.get_inheritable(number)
            self._afterwards.callback(
                _put_back, self._stream, saved_descriptor, inheritable=is_inherited
            )
            open_flags = os.O_WRONLY | flags("O_CLOEXEC")
            nowhere = os.open(os.devnull, open_flags)
            os.dup2(nowhere, number, inheritable=is_inherited)
            os.close(nowhere)


def _put_back(stream: Any, saved_descriptor: int, *, inheritable: bool) -> None:
    """Discard the buffered text of a stream, and let it write to `saved_descriptor` again."""
    with suppress(OSError, ValueError):
        stream.flush()
        os.dup2(saved_descriptor, stream.fileno(), inheritable=inheritable)
    os.close(saved_descriptor)


def end_closed() -> NoReturn:
    """End the program with `CLOSED`."""
    raise SystemExit(CLOSED)


@contextmanager
def guard_streams() -> Generator[None]:
    """Guard standard output and standard error; a closed stream becomes one to nowhere.

    Both are as before when the context ends, also one that could not be written.
    """
    original_stdout = sys.stdout
    original_stderr = sys.stderr
    with ExitStack() as afterwards, ExitStack() as settings:
        sys.stdout = _guard_stream(sys.stdout, afterwards, settings)
        sys.stderr = _guard_stream(sys.stderr, afterwards, settings, error=True)
        try:
            yield
        finally:
            sys.stderr.flush()
            sys.stdout = original_stdout
            sys.stderr = original_stderr


def _guard_stream(
    stream: Any, afterwards: ExitStack, settings: ExitStack, *, error: bool = False
) -> Any:
    if stream is None:
        return settings.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123
    if isinstance(stream, io.TextIOWrapper):
        settings.callback(stream.reconfigure, errors=stream.errors)
        stream.reconfigure(errors="replace")  # a terminal may not have every letter
    return Guarded(stream, error=error, afterwards=afterwards)


def _as_it_is(content: Any) -> Any:
    return content


def _cleaned_bytes() -> Callable[[Any], bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return lambda content: visible(decoder.decode(bytes(content))).encode()
