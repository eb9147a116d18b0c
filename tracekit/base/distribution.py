"""The installed distribution: its name in an index of packages, and its version."""

from importlib.metadata import version

DISTRIBUTION = "metaltrace"
"""Its name; the package that is imported and the command are `tracekit`."""


def own_version() -> str:
    """Return the version of the tracekit that runs, such as "0.1.0"."""
    return version(DISTRIBUTION)
