"""Bundles on disk: in the real layout, or in one that only the fake reads.

The real layout needs NumPy, which is imported for it alone: all else has to answer quickly.
"""

import json
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

_HARNESS = Path(__file__).resolve().parents[1] / "harness"
_RAW_DATA = Path("Trace1.run", "Attachments")
_STATE = "state.json"  # beside the files of a bundle: what the fake exports of it
_DOCUMENT = "form.template"
_LISTED_STORE = "corespace/run1/core/stores/indexed-store-0"


def write_bundle(bundle: Path, state: dict[str, Any], layout: str) -> None:
    """Save a recording: in the real layout, perhaps without a table, or in one nobody knows."""
    if layout != "unknown":
        _write_real_layout(bundle, state)
        if layout == "damaged":
            shutil.rmtree(bundle / _LISTED_STORE)
        (bundle / _STATE).write_text(json.dumps(state))
    else:
        bundle.mkdir(exist_ok=True)
        (bundle / _DOCUMENT).write_text(json.dumps(state))


def read_bundle(bundle: Path) -> dict[str, Any]:
    """Return what was saved; raise OSError or ValueError if nothing was."""
    file = bundle / _STATE
    return json.loads((file if file.exists() else bundle / _DOCUMENT).read_text())


def _write_real_layout(bundle: Path, state: dict[str, Any]) -> None:
    sys.path += [str(_HARNESS), str(_find_packages())]
    with tempfile.TemporaryDirectory(dir=bundle.parent) as folder:
        new_bundle = Path(folder) / "made.trace"
        import_module("real_layout").write(new_bundle, state)
        if (bundle / _RAW_DATA).exists():
            (bundle / _RAW_DATA).rename(new_bundle / _RAW_DATA)
        if bundle.exists():
            shutil.rmtree(bundle)
        new_bundle.rename(bundle)


def _find_packages() -> Path:
    """Return the folder of the packages of the environment that this Python is of."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return Path(sys.executable).parent.parent / "lib" / version / "site-packages"
