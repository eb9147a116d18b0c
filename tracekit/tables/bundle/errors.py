"""The errors of bundles and their files; the name of a bundle in a sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from tracekit.base import InputError

_Value = TypeVar("_Value")


def name_bundle(bundle: Path) -> str:
    """Return the name of a bundle; for the link in the folder of a run, that of its target."""
    if bundle.is_symlink():
        return bundle.resolve().name
    return bundle.name


WAY_OUT = (
    "On the Mac, `xcrun xctrace export --input RECORDING.trace` writes its TOC and tables as XML; "
    "`tracekit import` reads these."
)


class BundleError(InputError):
    """A bundle, or a file in it, is damaged."""


class UnknownBundleError(InputError):
    """A bundle has a layout that tracekit does not know, and so is not guessed at."""


class ArchiveError(ValueError):
    """The content of a file is invalid.

    Its text is the end of a sentence. The caller that knows the file makes a BundleError or a
    remark of it.
    """


class ReadOnce(Generic[_Value]):
    """A property that is read once, even if that raises a BundleError.

    Every table needs the same texts and arrays of its run. A read that takes seconds to fail is not
    tried again for each of them; the same error is raised.
    """

    def __init__(self, read: Callable[[Any], _Value]) -> None:
        self._read = read
        self.__doc__ = read.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, thing: Any, owner: type | None = None) -> _Value:
        no_refusals = dict[str, BundleError]()
        refusals = vars(thing).setdefault("_refusals", no_refusals)
        if self._name in refusals:
            raise refusals[self._name].with_traceback(None)
        try:
            value = self._read(thing)
        except BundleError as error:
            # Not the error itself, whose traceback would keep the data that was read until then.
            refusals[self._name] = type(error)(error.message, error.hint)
            raise
        vars(thing)[self._name] = value  # found before this descriptor from now on
        return value


def unknown(bundle: Path, reason: str) -> UnknownBundleError:
    """Return the error of a bundle that differs from the known ones, with the reason."""
    return UnknownBundleError(
        f"{name_bundle(bundle)} is not read directly: {reason}.", hint=WAY_OUT
    )
