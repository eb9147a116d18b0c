"""Commands do and say the same whatever the user and the machine are called."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from command_line import run, small
from many_recordings import exports
from tracekit.fleet.batch.results import RESULTS

pytestmark = pytest.mark.processes

NAMES = ["done", "auto", "import", "paged", "passed", "gpu", "metal", "mlx", "run", "host"]
UNCOMMON = "zwetschge"
VOLATILE = {"at", "created", "seconds", "finished", "stamp", "started", "ended"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was recorded here, and the exports of another program."""
    folder = tmp_path_factory.mktemp("names")
    chosen = [*small(40), "--recorder", "host", "--time-limit", "20s"]
    assert run("record", "--workload", "paged", "--output", folder / "a-run", *chosen) == 0
    exports(folder / "made", 0)
    return folder


def steady(value: Any) -> Any:
    """Return a document without what differs each time."""
    if isinstance(value, dict):
        return {key: steady(one) for key, one in value.items() if key not in VOLATILE}
    return [steady(one) for one in value] if isinstance(value, list) else value


def told(recorded: Path) -> dict[str, Any]:
    """Let all commands that read recordings work on copies; return what they leave and say."""
    folder = recorded / "x"
    made, brought = folder / "a-run", folder / "brought"
    shutil.copytree(recorded / "a-run", made)
    shutil.copytree(recorded / "made" / "exports", folder / "exports")
    commands = {
        "export": [made],
        "analyze": [made, "--json"],
        "report": [made],
        "import": [folder / "exports", "--output", brought],
        "tables": [made],
        "convert": [made, folder / "a.pftrace", "--to", "perfetto"],
        "query": ["select name from phases order by name", made],
        "compare": [made, made],
        "index": [folder],
        "batch": [folder / "exports", "--output", folder / "many"],
        "rules": [],
        "workloads": [],
    }
    codes = {name: run(name, *arguments) for name, arguments in commands.items()}
    result = json.loads((made / "result.json").read_text())
    document = json.loads((made / "recording.json").read_text())
    rows = pq.read_table(folder / "many" / RESULTS).to_pylist()
    page = (made / "report.html").read_text()
    shutil.rmtree(folder)
    return {
        "codes": codes,
        "result": steady(result),
        "stages": {name: one["state"] for name, one in document["stages"].items()},
        "rows": [{key: one for key, one in row.items() if key not in VOLATILE} for row in rows],
        "page": "<user>" in page or "&lt;user&gt;" in page,
    }


@pytest.fixture(scope="module")
def usual(recorded: Path) -> dict[str, Any]:
    """What commands leave for a user and a machine whose name is no word."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOGNAME", UNCOMMON)
        patch.setattr("socket.gethostname", lambda: UNCOMMON)
        return told(recorded)


@pytest.mark.parametrize(
    "name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.campaign) for name in NAMES[1:])]
)
def test_commands_do_not_take_words_for_the_user(
    name: str,
    recorded: Path,
    usual: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOGNAME", name)
    monkeypatch.setattr("socket.gethostname", lambda: name)
    found = told(recorded)
    assert found == usual
    assert found["codes"] == dict.fromkeys(found["codes"], 0)
    assert found["result"]["provenance"]["workload"] == "paged"
    assert set(found["stages"].values()) == {"done"}
