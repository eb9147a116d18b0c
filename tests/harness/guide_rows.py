"""What five guides to Metal performance ask, row by row, and the commands that answer it."""

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
STATES = {
    "whole": "the printed output answers the question",
    "partly": "it answers a part",
    "missing": "no command answers it",
    "impossible": "no Mac can give the answer",
    "decided": "it is outside of the tool",
}
_HEAD = """# Five guides to Metal performance

For readers who know a guide and look for the command. The guides are a checklist for captures (0),
a guide to the three tools of Xcode (1), the performance guide of MLX Primitives (2), the
optimization guide of Metal Marlin (3), and profiling llama.cpp on M1 (4). They ask for 110 things.

`tests/guides/rows.toml` has the rows, and `tests/guides/test_guides.py` runs the commands and looks
for each quote in their output. In a quote, `…` stands for text that differs from run to run, `/`
for the end of a line, and `//` for lines between. Commands run on a CPU, on packaged recordings, on
captures of others, and with an imitation of xctrace: the quotes show that the question is answered,
and not how fast a Mac is. A quote from another test is followed by the file of that test.
"""


@dataclass(frozen=True, slots=True)
class GuideRow:
    """One thing that guides ask for; `shown_by` names a test where no run can show it."""

    number: int
    guides: tuple[int, ...]
    section: str
    asks: str
    state: str
    commands: tuple[str, ...]
    run: str = ""
    shown_by: str = ""
    quote: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GuideRun:
    """Commands that are run one after another, and a file that they write."""

    lines: tuple[str, ...]
    needs: str = ""
    file: str = ""


def load_guide_rows() -> tuple[list[GuideRow], dict[str, GuideRun]]:
    """Return the rows by number, and the runs by name."""
    document = tomllib.loads((TESTS / "guides" / "rows.toml").read_text(encoding="utf-8"))
    rows: list[GuideRow] = []
    for values in document["row"]:
        sequences = {key: tuple(values[key]) for key in ("guides", "commands")}
        rows.append(GuideRow(**{**values, **sequences}))
    runs: dict[str, GuideRun] = {}
    for name, values in document["runs"].items():
        runs[name] = GuideRun(**{**values, "lines": tuple(values["lines"])})
    return rows, runs


def has_quote(quote: str, output: str) -> bool:
    """Tell whether an output has a quote.

    … is any text of a line, / is the end of a line, and // is any lines between. White space within
    a line is like one space.
    """
    lines = "\n".join(" ".join(line.split()) for line in output.splitlines())
    parts: list[str] = []
    for part in quote.split(" // "):
        words = re.escape(part).replace("…", "[^\n]*?")
        parts.append(words.replace("\\ /\\ ", "\n"))
    return re.search("(?s:.*?)".join(parts), lines) is not None


def guides_page() -> str:
    rows, _ = load_guide_rows()
    counts = Counter(row.state for row in rows)
    parts = [_HEAD, "\n| state | rows | meaning |\n|---|--:|---|\n"]
    for state, meaning in STATES.items():
        parts.append(f"| {state} | {counts[state]} | {meaning} |\n")
    for section in dict.fromkeys(row.section for row in rows):
        parts.append(f"\n## {section}\n\n")
        parts.append("| # | asked (by guides) | state | tracekit | the output, or the reason |\n")
        parts.append("|--:|---|---|---|---|\n")
        parts += [_table_row(row) for row in rows if row.section == section]
    return "".join(parts)


def _table_row(row: GuideRow) -> str:
    guides = ", ".join(str(guide) for guide in row.guides)
    commands = ", ".join(f"`{command}`" for command in row.commands)
    quote = f"`{row.quote}`" if row.quote else ""
    # The name of a test cannot be broken, and would make the table wider than the page.
    test = f"in `{Path(row.shown_by.partition('::')[0]).name}`" if row.shown_by else ""
    answer = " ".join(filter(None, (quote, test, row.reason)))
    cells = (str(row.number), f"{row.asks} ({guides})", row.state, commands, answer)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
