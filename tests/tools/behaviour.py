"""What the tool prints and writes for many inputs, as text, to compare two commits by.

python tests/tools/behaviour.py inputs FOLDER             # once: runs, a host capture, a history
python tests/tools/behaviour.py record FOLDER OUT         # at each commit
python tests/tools/behaviour.py compare BEFORE AFTER

`record` runs the tool of this checkout over copies of the inputs, and over the real exports and
bundles of the corpus where there is one. It writes a file for each command: its exit code, what it
printed, every file that it wrote. A table is a line for each column with a digest of its cells, a
page is its text. Times of today, and folders of this run, are left out.

Large changes that are to change nothing are made between two recordings of this.
"""

import argparse
import filecmp
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from lxml import etree, html

from tracekit.nightly.history.store.store import Store

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests" / "exam"), str(ROOT / "tests" / "harness")]
from labelled.drawn import clean  # noqa: E402
from labelled.faults import FAULTS  # noqa: E402
from labelled.folder import write  # noqa: E402
from labelled.program import simulate  # noqa: E402
from stored_nights import entry_of, judged_of, night_of, pair_of  # noqa: E402

CORPUS = Path(os.environ.get("TRACEKIT_CORPUS", ROOT.parent / "shared" / "corpus"))
NIGHTS = 30
_TODAY = re.compile(rf"{datetime.now(UTC):%Y-%m-%d}[T ][0-9:.-]+(Z|[+-]\d\d:\d\d)?")
_READ = """
import sys, warnings, tracekit
from pathlib import Path
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    frame = tracekit.read_table(sys.argv[1])
frame.to_parquet(sys.argv[2])
print(*(one.message for one in said), sep="\\n")
"""


@dataclass(frozen=True)
class Job:
    """Commands that are run one after the other in a folder of their own.

    `copied` are inputs that are put there first; in commands `{corpus}` stands for the corpus.
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    copied: tuple[Path, ...] = ()
    program: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one of the three."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["inputs", "record", "compare"])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="jobs whose name begins so")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at once")
    chosen = parser.parse_args(arguments)
    match chosen.what, chosen.folders:
        case "inputs", [folder]:
            return make_inputs(folder.resolve())
        case "record", [inputs, out]:
            return record(inputs.resolve(), out.resolve(), chosen.only, chosen.jobs)
        case "compare", [before, after]:
            return compare(before, after)
        case _:
            return parser.error("inputs FOLDER, record INPUTS OUT, or compare BEFORE AFTER")


def make_inputs(folder: Path) -> int:
    """Write made runs with each fault and without, two host captures and a history of nights."""
    folder.mkdir(parents=True)
    for number, fault in enumerate(("clean", *FAULTS)):
        setup = replace(clean(number), steps=24)
        if fault in FAULTS:
            setup = FAULTS[fault].put(setup, np.random.default_rng(number))
        write(simulate(setup), folder / "made" / fault)
    for name in ("first", "second"):
        capture = ("capture", "--workload", "paged", "--time-limit", "3s")
        done = _run((*_TOOL, *capture, "--output", str(folder / "host" / name)), folder)
        if done.returncode:
            raise SystemExit(done.stderr)
    _write_history(folder / "history.db")
    return 0


def _write_history(file: Path) -> None:
    with Store.connect(f"sqlite:///{file}") as store:
        for number in range(NIGHTS):
            slower = 1.05 if number >= NIGHTS // 2 else 1.0
            draw = np.random.default_rng(number)
            pairs = [
                pair_of(place, 100 * slower * draw.normal(1, 0.01), 100 * draw.normal(1, 0.01))
                for place in range(1, 7)
            ]
            entry = entry_of(pairs=pairs, judged=(judged_of(change=slower - 1),))
            store.append(night_of(number % 28 + 1, (entry,), tail=f"n{number:02d}"))


def jobs(inputs: Path) -> Iterator[Job]:
    """Yield all that is run."""
    for words in ("", "list rules", "list workloads", "bench chip"):
        yield Job(f"help/{words or 'help'}", (tuple(words.split()) or ("--help",),))
    for fault in sorted(inputs.glob("made/*")):
        run = (("analyze", fault.name), ("report", fault.name), ("tables", fault.name))
        yield Job(f"made/{fault.name}", run, (fault,))
    host = (inputs / "host" / "first", inputs / "host" / "second")
    formats = [("convert", "first", "--to", one) for one in ("perfetto", "chrome", "speedscope")]
    stages = (("analyze", "first"), ("analyze", "second"), ("report", "first"))
    yield Job("host/run", (*stages, *formats), host)
    runs = ("first", "second")
    yield Job("host/compare", (("compare", *runs, "--json", "--html", "compare.html"),), host)
    reports = [f"--{one}=gate.{one}" for one in ("junit", "sarif", "openmetrics", "markdown")]
    yield Job(
        "host/gate",
        (
            ("nightly", "gate", *runs, *reports, "--json"),
            ("nightly", "gate", *runs, "--threshold", "0.5"),
        ),
        host,
    )
    kept = ("--history", "sqlite:///history.db")
    history = ("nightly", "history", *kept)
    listed = [(*history, *more) for more in (("--json",), ("--output", "-"))]
    one = "2026-03-20T02-30-00-n19"
    night = [
        ("nightly", "gate", one, *kept, *reports, "--json"),
        (*history, "--html", "trend.html"),
    ]
    yield Job("history", (*listed, *night), (inputs / "history.db",))
    if not CORPUS.is_dir():
        print(f"no corpus at {CORPUS}: real exports and bundles are left out")
        return
    for path in sorted(CORPUS.rglob("*.xml")):
        place = path.relative_to(CORPUS)
        if ".trace" not in str(place) and not path.stem.endswith("toc"):
            yield Job(f"corpus/{place.with_suffix('')}", ((str(path), "t.parquet"),), (), _READ)
    for bundle in sorted(CORPUS.rglob("*.trace")):
        run = (("import", str(bundle), "--output", "run"), ("analyze", "run"), ("report", "run"))
        tables = (
            ("convert", str(bundle), "tables", "--to", "parquet"),
            ("export", str(bundle), "xml"),
        )
        yield Job(f"bundles/{bundle.stem}", (*run, *tables))


_TOOL = (sys.executable, "-m", "tracekit")


def record(inputs: Path, out: Path, only: str = "", at_once: int = 2) -> int:
    """Run all jobs, and write what came of each into `out`."""
    chosen = [one for one in jobs(inputs) if one.name.startswith(only)]
    with ThreadPoolExecutor(at_once) as threads:
        for job, said in zip(chosen, threads.map(_done, chosen), strict=True):
            file = out / f"{job.name}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(said)
            print(job.name)
    return 0


def _done(job: Job) -> str:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for one in job.copied:
            copy = shutil.copytree if one.is_dir() else shutil.copy
            copy(one, work / one.name)
        before = {path: path.stat().st_mtime_ns for path in work.rglob("*")}
        program = (sys.executable, "-c", job.program) if job.program else _TOOL
        parts: list[str] = []
        for words in job.commands:
            done = _run((*program, *words), work)
            parts.append(f"$ {' '.join(words)}\n{done.stdout}{done.stderr}exit {done.returncode}\n")
        written = sorted(
            path
            for path in work.rglob("*")
            if path.is_file()
            and ".home" not in path.parts
            and before.get(path) != path.stat().st_mtime_ns
            # What is kept of files names their inodes; its tables are compared.
            and (path.parent.name, path.suffix) != ("tables", ".json")
            and not path.name.endswith(".normal.parquet")
        )
        parts += (f"== {path.relative_to(work)}\n{_shown(path)}\n" for path in written)
        return _TODAY.sub("<now>", "\n".join(parts).replace(name, "<work>"))


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    own = {"TZ": "UTC", "COLUMNS": "100", "LANG": "C.UTF-8", "HOME": str(folder / ".home")}
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=folder, env={**kept, **own}, check=False, capture_output=True, text=True
    )


def _shown(path: Path) -> str:
    if path.suffix == ".parquet":
        return "\n".join(_columns(pq.read_table(path)))
    if path.suffix == ".html":
        page = html.fromstring(path.read_bytes())
        etree.strip_elements(page, "script", "style", with_tail=False)
        lines = (" ".join(str(line).split()) for line in page.itertext())
        return "\n".join(line for line in lines if line)
    content = path.read_bytes()
    plain = b"\0" not in content and len(content) < 1 << 20
    return content.decode(errors="replace") if plain else f"{len(content)} {_digest(content)}"


def _columns(table: pa.Table) -> Iterator[str]:
    yield f"{table.num_rows} rows"
    for name, cells in zip(table.column_names, table.columns, strict=True):
        plain = cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells
        yield f"{name} {plain.type} {_digest(repr(plain.to_pylist()).encode())}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def compare(before: Path, after: Path) -> int:
    """Print the jobs of which something else came, and how; return 1 if there are any."""
    names = sorted(
        {path.relative_to(one) for one in (before, after) for path in one.rglob("*.txt")}
    )
    differing = 0
    for name in names:
        pair = (before / name, after / name)
        if all(one.exists() for one in pair) and filecmp.cmp(*pair, shallow=False):
            continue
        print(f"{name}:", flush=True)
        subprocess.run(("diff", "--unified=0", "--new-file", *map(str, pair)), check=False)
        differing += 1
    print(f"{differing} of {len(names)} differ")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
