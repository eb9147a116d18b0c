"""The raw data in a bundle, and `xctrace import` of them."""

import re
from pathlib import Path

from tracekit.base import InputError, ToolError, files
from tracekit.record.xctrace.command import check
from tracekit.record.xctrace.tool import Xctrace

_RUN = re.compile(r"Trace(\d+)\.run")
_RAW_DATA = Path("Attachments") / "trace-data.atrc"
_DOCUMENT = "form.template"  # what a recorder writes last, and one that is killed never
_TABLES_MAY_BE_THERE = (
    "`tracekit import` reads the tables that it holds; without any, record again."
)
_LEAST_SECONDS = 600.0
_BYTES_A_SECOND = 2e6  # a tenth of the 20 MB/s that were seen for 2.4 GB


def find_raw_data(bundle: Path) -> Path:
    """Return the raw data of the last run of a bundle that was never saved.

    Raise InputError if it was saved, or holds no raw data.
    """
    if (bundle / _DOCUMENT).exists():
        raise InputError(
            f"{bundle} was saved, so there is nothing to recover.",
            hint="`tracekit import` reads it.",
        )
    numbers: dict[int, Path] = {}
    if bundle.is_dir():
        for entry in bundle.iterdir():
            run = _RUN.fullmatch(entry.name)
            if run is not None:
                numbers[int(run[1])] = entry
    if not numbers:
        raise InputError(
            f"{bundle} holds no run with raw data, so nothing of it can be recovered.",
            hint=_TABLES_MAY_BE_THERE,
        )
    file = numbers[max(numbers)] / _RAW_DATA
    if not file.is_file() or not file.stat().st_size:
        raise InputError(
            f"{bundle} holds no raw data ({file.relative_to(bundle)}), so nothing of it can be "
            "recovered.",
            hint=_TABLES_MAY_BE_THERE,
        )
    return file


def can_recover(bundle: Path) -> bool:
    """Return whether a bundle was never saved and holds raw data."""
    try:
        find_raw_data(bundle)
    except InputError:
        return False
    return True


def offer_recovery(error: ToolError, bundle: Path) -> ToolError:
    """Return the error of a bundle that does not open, with advice to recover it if it may work."""
    if not can_recover(bundle):
        return error
    command = f"tracekit runs recover {files.quote_path(bundle)}"
    advice = f"`{command}` makes a run of the raw data in its bundle."
    return ToolError(error.message, hint=f"{error.hint} {advice}".strip())


def import_seconds(raw_bytes: int) -> float:
    """Return the seconds that the import of so many bytes may take."""
    return _LEAST_SECONDS + raw_bytes / _BYTES_A_SECOND


def import_raw_data(
    tool: Xctrace, raw_data: Path, bundle: Path, template: str, seconds: float
) -> None:
    """Make a new bundle of raw data, with the instruments of a template.

    Raise ToolError if xctrace fails, does not end in time, or leaves no bundle.
    """
    paths = ("--input", str(raw_data.absolute()), "--output", str(bundle.absolute()))
    argv = (tool.path, "import", *paths, "--template", template)
    check(tool.run(argv, seconds))
    if not bundle.exists():
        raise ToolError(f"xctrace ended well, and there is no bundle at {bundle}.")
