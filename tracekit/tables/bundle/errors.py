"""Why a bundle, or one of its tables, is not read; what a bundle is called in a sentence."""

from pathlib import Path

from tracekit.base import InputError


def called(bundle: Path) -> str:
    """Name a bundle as its owner does: the link in a run's folder by what it leads to."""
    return bundle.resolve().name if bundle.is_symlink() else bundle.name


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


def unknown(bundle: Path, why: str) -> UnknownBundleError:
    """Say in what a bundle differs from those that are known."""
    return UnknownBundleError(f"{called(bundle)} is not read directly: {why}.", hint=WAY_OUT)
