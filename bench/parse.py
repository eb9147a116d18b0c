"""Read exports in every way that exists, side by side, and print how fast each one is.

python bench/parse.py --mb 5 --rounds 3
python bench/parse.py --mb 500 --rounds 5 --json speed.json
python bench/parse.py --file metal-gpu-intervals.xml

Every way runs in a process of its own, in rounds, on exports that are made here from a seed,
and on the files given. Its results are compared with the truth before anything is timed.
See bench/README.md.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reading.machine import machine
from reading.methods import METHODS, Method
from reading.rounds import Export, Outcome, alone, compare, time_rounds
from reading.summary import as_data, as_markdown
from synthetic import KINDS, truth_of

_BEGIN = "<!-- written by bench/parse.py -->"
_END = "<!-- end -->"
_CLOCKS = {"wall": "wall time", "cpu": "CPU time of all threads"}


def main(arguments: list[str] | None = None) -> None:
    """Make exports, compare and time the ways to read them, and print the results."""
    chosen = _parser().parse_args(arguments)
    if chosen.markdown:
        _inserted(chosen.markdown.read_text(), "")
    methods = list(METHODS)
    if chosen.method:
        methods = [method for method in METHODS if method.name in chosen.method]
    with tempfile.TemporaryDirectory(prefix="tracekit-bench-", dir=chosen.data) as folder:
        exports = [_given(file, file.stem) for file in chosen.file]
        exports.extend(_made(chosen, Path(chosen.data or folder)))
        results = [_measured(export, methods, chosen) for export in exports]
        about = machine()
        tables: list[str] = []
        data: list[object] = []
        for export, outcomes in zip(exports, results, strict=True):
            tables.append(as_markdown(export, outcomes, chosen.clock))
            data.append(as_data(export, outcomes))
    about["clock"] = _CLOCKS[chosen.clock]
    facts = "\n".join(f"- {name}: {value}" for name, value in about.items())
    page = "\n\n".join([facts, *tables])
    print(page)
    if chosen.json:
        results_and_machine = {**about, "exports": data}
        chosen.json.write_text(json.dumps(results_and_machine, indent=1) + "\n")
    if chosen.markdown:
        chosen.markdown.write_text(_inserted(chosen.markdown.read_text(), page))


def _measured(export: Export, methods: list[Method], chosen: argparse.Namespace) -> list[Outcome]:
    outcomes = compare(export, methods, chosen.slow_mb, _say)
    time_rounds(export, outcomes, chosen.rounds, _say)
    return outcomes


def _given(file: Path, name: str) -> Export:
    truth = truth_of(file)
    if not truth.table.exists():
        return Export(name, file, ())
    return Export(name, file, (truth.table, truth.stacks, truth.frames))


def _made(chosen: argparse.Namespace, folder: Path) -> Iterator[Export]:
    if not chosen.mb:
        return
    sizes = sorted({min(chosen.mb, chosen.slow_mb), chosen.mb})
    for kind in chosen.kind or KINDS:
        for megabytes in sizes:
            path = folder / f"{kind}-{megabytes:g}-{chosen.seed}.xml"
            if not path.exists():
                _say(f"{path.stem}: being made")
                made = alone("make", kind, str(path), str(megabytes), str(chosen.seed))
                if "failure" in made:
                    path.unlink(missing_ok=True)
                    sys.exit(f"{path.stem}: {made['failure']}")
            yield _given(path, kind)


def _inserted(text: str, page: str) -> str:
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        sys.exit(f"The page has no place for the table: {_BEGIN} and {_END}.")
    return f"{before}{begin}\n\n{page}\n\n{end}{after}"


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--mb", type=float, default=50, help="size of the exports to make, in 10^6 bytes; 0: none")
    add("--rounds", type=int, default=5, help="rounds; slow ways run in the first one alone")
    add("--seed", type=int, default=1, help="seed of the exports")
    add("--kind", action="append", choices=KINDS, default=[], help="make this kind alone")
    names = [one.name for one in METHODS]
    add("--method", action="append", choices=names, default=[], help="run this way alone")
    add("--file", action="append", type=Path, default=[], metavar="XML", help="read this as well")
    add("--slow-mb", type=float, default=20, help="largest export for the slow ways")
    add("--data", type=Path, help="keep the exports in this folder, and use those that it has")
    add("--clock", choices=("wall", "cpu"), default="wall", help="cpu: for a busy machine")
    add("--json", type=Path, metavar="FILE", help="write all that was measured")
    add("--markdown", type=Path, metavar="PAGE", help="put the tables into this page")
    return parser


if __name__ == "__main__":
    main()
