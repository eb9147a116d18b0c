"""Why a bundle, or one of its tables, is not read; what a bundle is called in a sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from tracekit.base import InputError

_Value = TypeVar("_Value")


def name_bundle(bundle: Path) -> str:
    """Name a bundle as its owner does: the link in a run's folder by what it leads to."""
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
    """What a file holds is not what it must be.

    Its words are the end of a sentence. Who knows the file makes a BundleError or a remark of it.
    """


class ReadOnce(Generic[_Value]):
    """A property that is read once, be it that a BundleError comes of it.

    Every table asks for the same texts and arrays of its run. What takes seconds to be refused is
    not tried again for each of them; the same error is raised.
    """

    def __init__(self, read: Callable[[Any], _Value]) -> None:
        self._read = read
        self.__doc__ = read.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, thing: Any, owner: type | None = None) -> _Value:
        refusals = vars(thing).setdefault("_refusals", dict[str, BundleError]())
        if self._name in refusals:
            raise refusals[self._name].with_traceback(None)
        try:
            value = self._read(thing)
        except BundleError as error:
            # Not the error itself, whose traceback would keep what was read until then.
            refusals[self._name] = type(error)(error.message, error.hint)
            raise
        vars(thing)[self._name] = value  # found before this descriptor from now on
        return value


def unknown(bundle: Path, reason: str) -> UnknownBundleError:
    """Say in what a bundle differs from those that are known."""
    return UnknownBundleError(
        f"{name_bundle(bundle)} is not read directly: {reason}.", hint=WAY_OUT
    )
