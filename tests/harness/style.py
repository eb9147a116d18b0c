"""Measure the names, the density and the English of this project.

    python tests/harness/style.py                  # every figure
    python tests/harness/style.py --places english # each counted phrase, and its place
    python tests/harness/style.py --places names   # each vague name, and its place

`tests/test_style.py` fails when a figure rises. Each figure is a count that a reader can repeat;
none of them knows whether a name is good, only that it is of a kind that says little.
"""

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import prose

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tracekit"

VAGUE_WORDS = frozenset(
    """above absent after again ahead alike asked at away bare before began begun behind below
    beside between both brought claimed counted cut due each earlier elsewhere ended every few
    first found free given gone held here high hopeless inside just kept known lacking last
    least left left_out like lost low made meant meanwhile missed most named nearest next none
    noted nothing now of often once one only open other others out outside over own placed plain
    put ran remaining rest said same seen settled several shown spent still stated stands such
    taken then there told together used usual wanted what when where which whole why within
    worth written""".split()
)
NOUNS_IN_ED = frozenset("seed speed embed need feed shed bed breed exceed proceed succeed".split())

# Phrases that a native technical writer would not use, each with what to write instead.
ODD_PHRASES: dict[str, re.Pattern[str]] = {
    "a clause headed by what": re.compile(r"\bwhat\b(?![^.!?]*\?)", re.IGNORECASE),
    "a clause headed by who": re.compile(
        r"\b(?:says|sees|knows|shows|tells|finds|asks|or|by|of|on|to|for|is|with) who\b",
        re.IGNORECASE,
    ),
    "a clause headed by where": re.compile(
        r"\bwhere (?:there|it|they|that|this|none|nothing|one|a|an|the|no)\b(?![^.!?]*\?)",
        re.IGNORECASE,
    ),
    "is no": re.compile(
        r"(?<!there )\b(?:is|are|was|were) no (?!longer|more\b|less)", re.IGNORECASE
    ),
    "told": re.compile(r"\btold\b", re.IGNORECASE),
    "said of": re.compile(r"\b(?:said|say|says) of\b", re.IGNORECASE),
    "stands": re.compile(r"\b(?:stands?|stood)\b", re.IGNORECASE),
    "beside": re.compile(r"\bbeside\b", re.IGNORECASE),
    "for, as because": re.compile(
        r"[,;:] for (?:it|its|they|their|the|a|an|no|each|this|that|one)\b"
    ),
}


def is_vague(name: str) -> bool:
    """Return whether a name is a bare participle, adverb, pronoun or adjective."""
    word = name.strip("_")
    if "_" in word:
        return word in VAGUE_WORDS
    is_participle = re.fullmatch(r"\w+ed", word) is not None and word not in NOUNS_IN_ED
    return is_participle or word in VAGUE_WORDS


@dataclass(frozen=True, slots=True)
class VagueName:
    """A definition whose name says little."""

    file: Path
    line: int
    name: str
    kind: str  # function or name

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} {self.kind} {self.name}"


@dataclass(slots=True)
class CodeCounts:
    """Counts of the syntax of a folder."""

    statements: int = 0
    nodes: int = 0
    functions: int = 0
    stored_names: int = 0
    tuple_assignments: int = 0
    comprehensions: int = 0
    ternaries: int = 0
    nested_ternaries: int = 0
    branchy_functions: int = 0

    def per_thousand(self, count: int) -> float:
        """Return a count in 1,000 statements."""
        return 1000 * count / max(self.statements, 1)


_BRANCHES = (
    ast.If,
    ast.For,
    ast.While,
    ast.ExceptHandler,
    ast.IfExp,
    ast.BoolOp,
    ast.comprehension,
    ast.match_case,
)
_MANY_BRANCHES = 15


class Code:
    """The syntax of the modules of some folders: all nodes of each file."""

    def __init__(self, *folders: Path) -> None:
        files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
        self.nodes = {file: [*ast.walk(ast.parse(file.read_text()))] for file in files}

    def vague_names(self) -> Iterator[VagueName]:
        """Yield each function with a vague name, and each place that stores to one."""
        for file, nodes in self.nodes.items():
            for node in nodes:
                match node:
                    case ast.FunctionDef(name=name) if is_vague(name):
                        yield VagueName(file, node.lineno, name, "function")
                    case ast.Name(id=name, ctx=ast.Store()) if name.strip("_") in VAGUE_WORDS:
                        yield VagueName(file, node.lineno, name, "name")
                    case ast.arg(arg=name) if name.strip("_") in VAGUE_WORDS:
                        yield VagueName(file, node.lineno, name, "name")
                    case _:
                        pass

    def shared_class_names(self) -> dict[str, list[Path]]:
        """Return the class names that stand for two classes or more, with their files."""
        places: dict[str, set[Path]] = defaultdict(set)
        for file, nodes in self.nodes.items():
            for node in nodes:
                if isinstance(node, ast.ClassDef):
                    places[node.name.strip("_")].add(file)
        return {name: sorted(files) for name, files in places.items() if len(files) > 1}

    def count(self) -> CodeCounts:
        """Return the counts of the syntax of all modules."""
        counts = CodeCounts()
        for nodes in self.nodes.values():
            for node in nodes:
                counts.nodes += 1
                _count_node(counts, node)
        return counts


def _count_node(counts: CodeCounts, node: ast.AST) -> None:
    if isinstance(node, ast.stmt) and not _is_docstring(node):
        counts.statements += 1
    match node:
        case ast.FunctionDef(name=name) if not name.startswith("__"):
            counts.functions += 1
            branches = sum(isinstance(part, _BRANCHES) for part in ast.walk(node))
            counts.branchy_functions += 1 + branches >= _MANY_BRANCHES
        case ast.Name(ctx=ast.Store()) | ast.arg():
            counts.stored_names += 1
        case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple()):
            counts.tuple_assignments += 1
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            counts.comprehensions += 1
        case ast.IfExp():
            counts.ternaries += 1
            inner = (part for part in ast.walk(node) if part is not node)
            counts.nested_ternaries += any(isinstance(part, ast.IfExp) for part in inner)
        case _:
            pass


def _is_docstring(node: ast.AST) -> bool:
    if not isinstance(node, ast.Expr):
        return False
    return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def code_figures(code: Code) -> dict[str, float]:
    """Return the figures of names and density, under the names that the limits have."""
    counts = code.count()
    kinds = Counter(name.kind for name in code.vague_names())
    return {
        "shared class names": len(code.shared_class_names()),
        "vague functions, %": 100 * kinds["function"] / counts.functions,
        "vague stored names, %": 100 * kinds["name"] / counts.stored_names,
        "nodes a statement": counts.nodes / counts.statements,
        "tuple assignments": counts.per_thousand(counts.tuple_assignments),
        "comprehensions": counts.per_thousand(counts.comprehensions),
        "ternaries": counts.per_thousand(counts.ternaries),
        "nested ternaries": counts.nested_ternaries,
        "functions of 15 branches": counts.branchy_functions,
    }


Texts = Iterator[tuple[str, str]]  # a place and a text


def docstrings(code: Code) -> Texts:
    """Yield the docstrings and comments of Python files."""
    for file, nodes in code.nodes.items():
        place = str(file.relative_to(ROOT))
        for node in nodes:
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{place}:{getattr(node, 'lineno', 1)}", text
        for number, line in enumerate(file.read_text().splitlines(), 1):
            comment = re.search(r"(?:^|\s)# (.+)$", line)
            if comment:
                yield f"{place}:{number}", comment[1]


def messages(code: Code) -> Texts:
    """Yield the texts of errors and of reasons: all strings in calls that make an exception."""
    for file, nodes in code.nodes.items():
        for node in nodes:
            if isinstance(node, ast.Call) and _makes_error(node.func):
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield f"{file.relative_to(ROOT)}:{part.lineno}", part.value


def _makes_error(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name.endswith("Error") or name == "Unavailable"


def help_texts() -> Texts:
    """Yield the lines of the generated page of commands; its help texts are code blocks."""
    page = ROOT / "docs" / "reference" / "commands.md"
    for number, line in enumerate(page.read_text().splitlines(), 1):
        yield f"{page.relative_to(ROOT)}:{number}", line


def documentation() -> Texts:
    """Yield the lines of README and docs, without generated pages, places of links and code.

    The words of generated pages are docstrings and declarations, which are surfaces of their own.
    """
    written = [page.file for page in prose.written_pages()]
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *written]:
        for place, line in _lines(page):
            yield place, re.sub(r"\]\([^)]*\)", "]", line)


def changelog() -> Texts:
    """Yield the lines of the changelog."""
    yield from _lines(ROOT / "CHANGELOG.md")


def names_of_tests() -> Texts:
    """Yield the names of all tests, as words."""
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            definition = re.match(r"\s*def test_(\w+)\(", line)
            if definition:
                yield f"{file.relative_to(ROOT)}:{number}", definition[1].replace("_", " ")


def _lines(page: Path) -> Texts:
    is_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield f"{page.relative_to(ROOT)}:{number}", re.sub(r"`[^`]*`", "", line)


def surfaces(code: Code) -> dict[str, Texts]:
    """Return the texts of each surface that a reader meets."""
    return {
        "help": help_texts(),
        "errors": messages(code),
        "docs": documentation(),
        "changelog": changelog(),
        "docstrings": docstrings(code),
        "test names": names_of_tests(),
    }


def odd_phrases(text: str) -> Iterator[str]:
    """Yield the kind of each odd phrase of a text."""
    for kind, pattern in ODD_PHRASES.items():
        for _ in pattern.finditer(text):
            yield kind


def english_figures(code: Code) -> dict[str, float]:
    """Return the odd phrases in 1,000 words, for each surface."""
    figures: dict[str, float] = {}
    for name, texts in surfaces(code).items():
        words = 0
        phrases = 0
        for _, text in texts:
            words += len(text.split())
            phrases += sum(1 for _ in odd_phrases(text))
        figures[f"odd English: {name}"] = 1000 * phrases / max(words, 1)
    return figures


def face_figures() -> dict[str, float]:
    """Return how many public names the faces of the rooms have together."""
    faces = PACKAGE.glob("*/__init__.pyi")
    return {"public names": sum(face.read_text().count(" as ") for face in faces)}


def all_figures() -> dict[str, float]:
    """Return every figure of the package."""
    code = Code(PACKAGE)
    return code_figures(code) | english_figures(code) | face_figures()


def main() -> None:
    """Print the figures, or the places behind them."""
    parser = argparse.ArgumentParser(description="Measure names, density and English.")
    parser.add_argument("--places", choices=["english", "names"], help="list places, not figures")
    arguments = parser.parse_args()
    if arguments.places == "names":
        for name in Code(PACKAGE).vague_names():
            print(name)
    elif arguments.places == "english":
        for texts in surfaces(Code(PACKAGE)).values():
            for place, text in texts:
                for kind in odd_phrases(text):
                    print(f"{place} {kind}: {text.strip()}")
    else:
        for name, figure in all_figures().items():
            print(f"{name:28} {figure:8.2f}")


if __name__ == "__main__":
    main()
