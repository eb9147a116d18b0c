"""What a bundle is called in a sentence."""

from pathlib import Path


def called(bundle: Path) -> str:
    """Name a bundle as its owner does: the link in a run's folder by what it leads to."""
    return bundle.resolve().name if bundle.is_symlink() else bundle.name
