"""Every command on small inputs, and the events upon which a test may stop it."""

import os
import plistlib
import shutil
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from bundle_writer import RunInfo, write_bundle
from capture_writer import small_capture
from command_line import run
from gate_night import FINE, NIGHT
from small_bundle import PYTHON, SERVER, intervals, ticks
from stored_nights import two_nights
from tracekit.base.documents import save
from tracekit.cli.names import GROUPS
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.document import STARTER
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle_xml import write_exports

# Words in capitals are places of `World`; OUT is what is written, a file where it has an ending.
LINES = {
    "capture": "capture --recorder host --time-limit 50ms --output OUT -- sleep 5",
    "record": "record --recorder host --time-limit 50ms --output OUT -- sleep 5",
    "export": "export BUNDLE OUT",
    "analyze": "analyze RUN",
    "report": "report RUN",
    "import of exports": "import EXPORTS --output OUT",
    "import of a bundle": "import BUNDLE --output OUT",
    "import of a capture": "import CAPTURE --output OUT",
    "runs redact": "runs redact CAPTURE OUT.gputrace",
    "runs recover": "runs recover FOLDER",
    "tables of a run": "tables RUN gpu_intervals --output OUT.csv",
    "tables of a bundle": "tables BUNDLE gpu_intervals --output OUT.parquet",
    "tables of a capture": "tables CAPTURE dispatches --output OUT.parquet",
    "tables, shown": "tables BUNDLE gpu_intervals",
    "tables, listed": "tables RUN",
    "convert of an export": "convert EXPORTS/tick.xml OUT.csv",
    "convert of a bundle": "convert BUNDLE OUT --to csv",
    "convert of a table in a bundle": "convert BUNDLE OUT.feather --schema tick",
    "convert of a run": "convert RUN OUT.json --to chrome",
    "convert of a run for Perfetto": "convert RUN OUT.pftrace --to perfetto",
    "convert of a run's tables": "convert RUN OUT --to parquet",
    "query of a run": "query select+*+from+gpu_intervals RUN --output OUT.parquet",
    "query of a bundle": "query select+*+from+gpu_intervals BUNDLE --output OUT.csv",
    "query, shown": "query select+*+from+gpu_intervals RUN",
    "query, as a document": "query select+*+from+gpu_intervals RUN --format json",
    "query, listed": "query --list RUN",
    "report of a bundle": "report BUNDLE --output OUT",
    "analyze of exports": "analyze EXPORTS --output OUT",
    "demo": "demo bubbles --output OUT",
    "batch": "batch RUN --output OUT --workers 1",
    "compare": "compare RUN TWIN --html OUT.html",
    "compare of captures": "compare CAPTURE CAPTURE",
    "bench ab": "bench ab nothing -- x=1",
    "gate of runs": "nightly gate RUN TWIN",
    "gate of a night": "nightly gate NIGHT --junit OUT.xml",
    "gate, as a document": "nightly gate NIGHT --json",
    "gate, as Markdown": "nightly gate NIGHT --markdown -",
    "gate, as a comment": "nightly gate NIGHT --comment -",
    "runs index": "runs index FOLDER",
    "runs prune": "runs prune FOLDER --keep 1d --dry-run",
    "runs verify": "runs verify RUN",
    "runs verify of a bundle": "runs verify BUNDLE",
    "runs verify of a history": "runs verify HISTORY",
    "list workloads": "list workloads",
    "list rules": "list rules",
    "bench load": "bench load --url http://127.0.0.1:9/v1 --duration 0.1",
    "bench runtimes": "bench runtimes --with mlx_lm=none --rounds 1",
    "bench chip": "bench chip",
    "doctor": "doctor",
    "mcp": "mcp --folder FOLDER --json",
    "open": "open RUN --page --print",
    "bench run": "bench run --subject append --batch 1 --budget 0.001 --repeats 1 --warmup 1 "
    "--active-blocks 1 --output OUT.json",
    "bench run, listed": "bench run --list",
    "bench tune": "bench tune --batch 1 --budget 0.001 --repeats 1 --warmup 1 --active-blocks 1 "
    "--output OUT.json",
    "bench sweep": "bench sweep norm-separate --sizes 1,2 --budget 0.001 --repeats 1 --warmup 1 "
    "--dims 16 --out-dims 16 --output OUT.json",
    "kernel check": "kernel check CAPTURE --expect groups==4 --junit OUT.xml",
    "kernel parity": "kernel parity --case float16-d64-b16-q8-kv2-ragged --subject paged "
    "--output OUT.json",
    "kernel parity, listed": "kernel parity --list",
    "kernel replay": "kernel replay CAPTURE",
    "kernel verify": "kernel verify nowhere.metal",
    "list templates": "list templates",
    "list templates make": "list templates make OUT.tracetemplate --from TEMPLATE "
    "--counter-profile 1 --write",
    "nightly run": "nightly run PLAN --dry-run",
    "nightly init": "nightly init OUT.toml",
    "nightly rehearse": "nightly rehearse nowhere.toml",
    "nightly install": "nightly install PLAN --at 02:30 --method cron --dry-run",
    "nightly status": "nightly status PLAN",
    "nightly uninstall": "nightly uninstall PLAN",
    "nightly history": "nightly history --history HISTORY",
    "nightly history --output": "nightly history --history HISTORY --output OUT.csv",
    "nightly history --output -": "nightly history --history HISTORY --output -",
    "nightly history --html": "nightly history --history HISTORY --html OUT.html",
    "nightly history sync": "nightly history sync --config PLAN --history HISTORY",
    "nightly history pin": "nightly history pin 2026-03-01T02-30-00-abcd --reason good "
    "--history HISTORY",
    "nightly history unpin": "nightly history unpin 2026-03-01T02-30-00-abcd --history HISTORY",
    "nightly baseline list": "nightly baseline list --history HISTORY",
    "nightly baseline accept": "nightly baseline accept 2026-03-02 --reason known "
    "--history HISTORY",
    "nightly baseline revoke": "nightly baseline revoke 2026-03-02 --reason wrong "
    "--history HISTORY",
}
# Commands whose own code, in this small world, is an error.
NO_TOOL = {
    *(
        "bench ab",
        "bench load",
        "bench runtimes",
        "doctor",
        "kernel replay",
        "kernel verify",
        "list templates",
        "runs recover",
    ),
    *("nightly run", "nightly rehearse", "nightly history unpin", "nightly baseline accept"),
    *("nightly baseline revoke", "runs verify of a history"),
}
# Commands that change what they are given, as they should.
IN_RUN = {
    *("analyze", "report", "runs index", "nightly history pin", "nightly history unpin"),
    *("nightly baseline accept", "nightly baseline revoke"),
}
_WITHOUT_HISTORY = ("init", "rehearse", "install", "status", "uninstall")


def allowed_codes(name: str) -> set[int]:
    """Return the exit codes that a command may have in this small world."""
    if name == "gate of runs":
        return {4}  # so small runs show no spread
    return {0, 2, 3, 4} if name in NO_TOOL else {0}


def needed_extra(name: str) -> str:
    """Return the extra without which a line is an error; nothing if the core is enough."""
    words = LINES[name].split()
    if words[0] in {"query", "batch", "mcp"}:
        return words[0]
    if name in {"bench load", "bench runtimes"}:
        return "load"
    if "--to perfetto" in LINES[name]:
        return "perfetto"
    if name == "runs verify of a history":
        return "nightly"
    is_of_night = words[0] == "nightly" and words[1] not in _WITHOUT_HISTORY
    return "nightly" if is_of_night and name != "gate of runs" else ""


def command_of(name: str) -> str:
    """Return the command of a line, by its whole name."""
    words = LINES[name].split()
    if words[0] in GROUPS:
        return " ".join(words[:2])
    return words[0]


def output_of(name: str) -> str:
    """Return what a command writes: OUT for a folder, OUT.x for a file, nothing for none."""
    return next((word for word in LINES[name].split() if word.startswith("OUT")), "")


_INPUTS = {
    "FOLDER": "",
    "RUN": "run",
    "TWIN": "twin",
    "BUNDLE": "b.trace",
    "CAPTURE": "c.gputrace",
    "EXPORTS": "exports",
    "NIGHT": "night",
    "HISTORY": "history.db",
    "PLAN": "plan.toml",
    "MINE": "mine",
    "TEMPLATE": "stock.tracetemplate",
}
_NEVER_EMPTY = {".json", ".xml", ".csv", ".parquet", ".feather", ".html", ".toml"}


@dataclass(frozen=True)
class World:
    """A folder with an input of each kind, and an empty one for outputs."""

    folder: Path

    @property
    def output_folder(self) -> Path:
        return self.folder / "out"

    def places(self) -> dict[str, Path]:
        """Return the inputs by the words for them; MINE are files of a user."""
        return {word: self.folder / "in" / name for word, name in _INPUTS.items()}

    def words(self, command: str, output: Path | None = None) -> list[str]:
        """Return the words of a command, given by name or line; `output` is what it writes."""
        inputs = self.places()
        line_words: list[str] = []
        for word in LINES.get(command, command).split():
            head, slash, tail = word.partition("/")
            if word.startswith("OUT"):
                line_words.append(str(output or self.output_folder / word.lower()))
            elif head in inputs:
                line_words.append(f"{inputs[head]}{slash}{tail}")
            else:
                line_words.append(word.replace("+", " "))
        return line_words

    def contents(self) -> dict[str, bytes]:
        """Return every input, but what reading keeps for the next time."""
        files = [path for path in self.folder.rglob("in/**/*") if path.is_file()]
        return {
            str(file): file.read_bytes()
            for file in files
            if "tables" not in file.parts and not file.name.startswith("history.")
        }

    def leftovers(self) -> list[str]:
        """Return files that are half written, or were to take the place of others."""
        paths = [path for path in self.folder.rglob("*") if path.is_file()]
        empty = [path for path in paths if path.suffix in _NEVER_EMPTY and not path.stat().st_size]
        unfinished = [path for path in paths if ".unfinished-" in path.name]
        return [str(path) for path in (*unfinished, *empty) if not path.is_symlink()]


def make_world(folder: Path) -> World:
    world = World(folder)
    world.output_folder.mkdir(parents=True)
    place = world.places()
    place["FOLDER"].mkdir()
    tables = [ticks([1]), intervals((0, 10, PYTHON), (5, 10, PYTHON), (40, 10, SERVER))]
    write_bundle(place["BUNDLE"], tables, info=RunInfo())
    small_capture().write(place["CAPTURE"])
    write_exports(Bundle(place["BUNDLE"]), place["EXPORTS"], lambda there: there, lambda _: None)
    for name in ("RUN", "TWIN"):
        assert run("import", place["EXPORTS"], "--output", place[name]) == 0
        assert run("analyze", place[name]) == 0
        assert run("report", place[name]) == 0
    place["NIGHT"].mkdir()
    night = replace(NIGHT, id="night", entries=(FINE,), outcome=Outcome.OK, reason="", warnings=())
    save(place["NIGHT"] / "night.json", night)
    with Store.connect(str(place["HISTORY"])) as store:
        two_nights(store)
    place["PLAN"].write_text(STARTER.read_text())
    place["TEMPLATE"].write_bytes(stock_template())
    place["MINE"].mkdir()
    for name in ("tick.csv", "index.html", "out.frames.parquet", "out.csv", "plan.toml"):
        (place["MINE"] / name).write_text("mine\n1\n")
    return world


def copy_world(world: World, folder: Path) -> World:
    shutil.copytree(world.folder, folder, symlinks=True)
    return World(folder)


def stock_template() -> bytes:
    """Return a template whose settings of counters and shaders are off, in one dictionary."""
    settings = {"counterprofile": 0, "counterprofileinternal": 0}
    settings |= {"shaderprofiler": False, "shaderprofilerinternal": False}
    keys, values = (
        [plistlib.UID(first_uid + offset) for offset in range(4)] for first_uid in (2, 6)
    )
    root = {"NS.keys": keys, "NS.objects": values}
    plist = {"$archiver": "NSKeyedArchiver", "$version": 100000, "$top": {"root": plistlib.UID(1)}}
    objects = {"$objects": ["$null", root, *settings, *settings.values()]}
    return plistlib.dumps(plist | objects, fmt=plistlib.FMT_BINARY)


_REPORTED = {"open", "os.mkdir", "subprocess.Popen", "sqlite3.connect"}
_listeners: list[Callable[[str, str], None]] = []


def _report(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _REPORTED:
        for listener in _listeners:
            listener(event, str(arguments[0]) if arguments else "")


@cache
def _hook() -> None:
    """Hear of what is opened, made or started; an audit hook stays for good, so there is one."""
    sys.addaudithook(_report)


@contextmanager
def signal_at_event(
    number: signal.Signals, when: Callable[[str, str], bool]
) -> Generator[list[str]]:
    """Send this process a signal upon the first event that is `when`; yield which it was."""
    came: list[str] = []

    def listen(event: str, name: str) -> None:
        if not came and when(event, name):
            came.append(f"{event} {name}")
            os.kill(os.getpid(), number)

    _hook()
    _listeners.append(listen)
    try:
        yield came
    finally:
        _listeners.remove(listen)
