"""`xctrace import` of the raw data in a bundle whose recorder was killed, and those raw data."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from bundles import write_bundle
from gpu import read_jobs
from scenario import Scenario

_USAGE = 64
_SIZE = 20_000  # bytes of raw data
_TICK = 0.01
_OPTIONS = {"--input", "--output", "--template", "--instrument", "--package"}


def write_raw_data(bundle: Path, state: dict[str, Any], scenario: Scenario) -> None:
    """Write what a recorder has by heart into the raw data, as far as the scenario has any."""
    kind = scenario.get("raw_data", "whole")
    if kind == "none":
        return
    folder = bundle / "Trace1.run" / "Attachments"
    folder.mkdir(parents=True)
    raw = json.dumps(state).encode().ljust(_SIZE)
    if kind == "cut":
        raw = raw[:40]
    (folder / "trace-data.atrc").write_bytes(raw)


def import_bundle(options: list[str], scenario: Scenario) -> int:
    scenario.note("Importing")
    while scenario.get("import") == "hang":
        time.sleep(_TICK)
    values = dict(zip(options[::2], options[1::2], strict=False))
    file, output = Path(values.get("--input", "")), Path(values.get("--output", ""))
    if values.keys() - _OPTIONS or output.exists() or not file.is_file():
        return _fail("the arguments are refused")  # the wording is not on record
    if scenario.get("import") == "fail":
        return _fail("the file cannot be imported")  # nor is this one
    try:
        state = json.loads(file.read_bytes())
    except ValueError:
        output.mkdir()
        return _fail("the file is not whole")  # nor is this one
    if scenario.get("import") == "empty":
        state |= {"target": None, "duration": 0.0}
    state["template"] = values.get("--template", state["template"])
    origin = state["origin"]
    state["jobs"] = read_jobs(origin, time.monotonic_ns(), rows={})
    ends = [end / 1e9 for jobs in state["jobs"].values() for _, end in jobs]
    if state["target"] is not None:
        state["duration"] = max([state["duration"], *ends])
    write_bundle(output, state, scenario.get("layout", "real"))
    scenario.note("Imported")
    return 0


def _fail(text: str) -> int:
    sys.stderr.write(f"Import failed: {text}\n")
    return _USAGE
