"""Change the code of a room in one place at a time, and count the changes that its tests find.

    uv run --group check python tests/tools/mutants.py comparison --count 100 --seed 1

The changes, the choice of tests by what they call, and the forks are mutmut's; see
docs/explanation/how-the-tests-are-judged.md for what is chosen and what came of it.
"""

import argparse
import os
import random
import re
import shutil
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import libcst as cst
from mutmut import __main__ as mutmut
from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.file_mutation import Mutation, create_mutations, group_by_top_level_node
from mutmut.mutation.trampoline_templates import mangle_function_name
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import get_mutant_name

ROOT = Path(__file__).parents[2]
FOUND = {"killed", "timeout", "segfault", "suspicious"}


def mutants_of(file: Path) -> Iterator[str]:
    """Name the changes of a file, in the order in which mutmut numbers them."""
    module, mutations, _, _ = create_mutations(str(file), file.read_text())
    methods = {
        part: cls.name.value
        for cls in module.body
        if isinstance(cls, cst.ClassDef)
        for part in cls.body.body
    }
    for function, its in group_by_top_level_node(mutations).items():
        if not isinstance(function, cst.FunctionDef):
            continue
        name = mangle_function_name(name=function.name.value, class_name=methods.get(function))
        for number, mutation in enumerate(its, start=1):
            if not _is_of_words(mutation, function):
                yield get_mutant_name(file, f"{name}__mutmut_{number}")


def _is_of_words(mutation: Mutation, function: cst.FunctionDef) -> bool:
    """Whether a change is in a text for people: golden files hold these, one for each surface."""
    if isinstance(mutation.original_node, cst.SimpleString):
        return " " in mutation.original_node.value
    finder = _Raised(mutation.original_node)
    function.visit(finder)
    return finder.is_inside


class _Raised(cst.CSTVisitor):
    """Whether a node stands in what is raised."""

    def __init__(self, node: cst.CSTNode) -> None:
        super().__init__()
        self.node, self.depth, self.is_inside = node, 0, False

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.depth += isinstance(node, cst.Raise)
        self.is_inside |= node is self.node and self.depth > 0
        return not self.is_inside

    def on_leave(self, original_node: cst.CSTNode) -> None:
        self.depth -= isinstance(original_node, cst.Raise)


@contextmanager
def _quiet() -> Generator[None]:
    """Send to a file what is printed meanwhile: mutmut turns a wheel several times a second."""
    terminal = os.dup(1)
    with Path("mutants.log").open("w") as log:
        os.dup2(log.fileno(), 1)
        try:
            yield
        finally:
            sys.stdout.flush()
            os.dup2(terminal, 1)
            os.close(terminal)


def main() -> int:
    """Draw changes, try them, and print those that no test found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("room", help="a folder or a module of tracekit/, such as base/units.py")
    parser.add_argument("--count", type=int, default=100, help="how many changes, drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", action="append", help="folders of tests; else the room's own")
    parser.add_argument("--tier", action="append", help="tiers of tests; else default, processes")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    os.chdir(ROOT)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    shutil.rmtree("mutants", ignore_errors=True)

    place = Path("tracekit") / arguments.room
    files = sorted(place.rglob("*.py")) or [place.with_suffix(".py")]
    names = [name for file in files for name in mutants_of(file)]
    drawn = random.Random(arguments.seed).sample(names, min(arguments.count, len(names)))
    settings = config()
    settings.only_mutate = [str(file) for file in files]
    tiers = arguments.tier or ["default", "processes"]
    settings.pytest_add_cli_args += [f"--tier={tier}" for tier in tiers]
    folder = re.sub("^pages", "report", arguments.room)
    settings.pytest_add_cli_args_test_selection = arguments.tests or [f"tests/{folder}"]
    with _quiet():
        run = mutmut._run  # pyright: ignore[reportPrivateUsage]
        run(drawn, arguments.processes)  # as `mutmut run NAME…` does

    statuses = Counter[str]()
    for file in files:
        data = SourceFileMutationData(path=file)
        data.load()
        for name in sorted(data.exit_code_by_key.keys() & set(drawn)):
            status = status_by_exit_code[data.exit_code_by_key[name]]
            statuses[status] += 1
            if status not in FOUND:
                print(f"\n{name}: {status}\n{get_diff_for_mutant(name, path=file)}")
    found = sum(statuses[status] for status in FOUND)
    ends = ", ".join(f"{count} {status}" for status, count in statuses.items())
    print(f"\n{arguments.room}: {found} of {len(drawn)} found, of {len(names)} changes; {ends}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
