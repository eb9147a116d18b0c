"""The questions of SKILL.md on a real trace, with answers derived from the raw exports by SQL.

The answers come from the rows of the exported XML, read here by lxml alone and asked by DuckDB, so
none of tracekit's readers, tables or analysis takes part in them.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from lxml import etree

from command_line import run
from tracekit.mcp.answers import estimate_tokens

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills" / "tracekit" / "SKILL.md"
AGENTS = ROOT / "AGENTS.md"
TRACES = "Oichkatzelesfrettschen+steinmarder/_history_8227983"
QUERY = re.compile(r'tracekit query "([^"]+)"')
VIEWS = """
    create macro is_target(process) as process = 'sm_apple_metal_probe_host (88921)';
    create view work as
        select start as a, start + duration as b from gpu_intervals where is_target(process);
    create view merged as
        select a, b, max(b) over (order by a, b rows between unbounded preceding and 1 preceding)
        as before from work;
"""

# SQL over the raw exports, whose columns have the mnemonics of their schemas.
RAW = {
    "Which processes used the GPU, and how long?": """
        select regexp_replace(process, ' \\(\\d+\\)$', ''), count(*), sum(duration)::bigint
        from gpu_intervals group by 1 order by 3 desc""",
    "Which kernel took the GPU longest?": """
        select trim(regexp_replace(label, '\\(.*', '')), count(*), sum(duration)::bigint
        from gpu_intervals where is_target(process) group by 1 order by 3 desc""",
    "How long was the GPU busy?": """
        select sum(greatest(0, b - greatest(a, coalesce(before, a))))::double from merged""",
    "How much of its time was the GPU idle?": """
        select 1 - sum(greatest(0, b - greatest(a, coalesce(before, a)))) / (max(b) - min(a))
        from merged""",
    "How many gaps are between the work, and how long?": """
        select count(*), sum(a - before)::bigint from merged where a > before""",
    "How long is a piece of work?": """
        select median(duration), quantile_disc(duration, 0.99), max(duration) from gpu_intervals
        where is_target(process)""",
    "How long does work wait before it starts?": """
        select median("start-latency") from gpu_intervals where is_target(process)""",
    "When does the work begin and end?": """
        select min(start), max(start + duration) from gpu_intervals where is_target(process)""",
    "Did other processes use the GPU meanwhile?": """
        select regexp_replace(process, ' \\(\\d+\\)$', ''), sum(duration)::bigint
        from gpu_intervals where not is_target(process)
        and start between (select min(a) from work) and (select max(a) from work)
        group by 1 order by 2 desc""",
    "How many command buffers completed?": """
        select count(distinct "cmdbuffer-id") from completions
        where "cmdbuffer-id" in
        (select "cmdbuffer-id" from gpu_intervals where is_target(process))""",
    "How long did the driver work?": """
        select "event-type", count(*), sum(duration)::bigint from driver_intervals
        where is_target(process) group by 1 order by 3 desc""",
    "Which thread encodes, and how long?": """
        select regexp_extract(thread, '0x([0-9a-f]+)', 1), count(*), sum(duration)::bigint
        from encoders where is_target(process) group by 1 order by 3 desc""",
    "How long was the whole device active?": """
        select state, sum(duration)::bigint from gpu_states group by 1 order by 2 desc""",
    "Which process took the CPU?": """
        select regexp_replace(process, ' \\(\\d+\\)$', ''), sum(weight)::bigint
        from cpu_profile group by 1 order by 2 desc""",
}
OF_RESULT = {
    "Why was something not judged?": """
        select c.rule, c.reason from (select unnest(checks) c from read_json(?))
        where c.status = 'abstained'""",
    "What should be recorded next?": """
        select c.remedy, list(c.rule order by c.rule)
        from (select unnest(checks) c from read_json(?)) where c.remedy != '' group by 1""",
}
EXPORTS = {
    "gpu_intervals": "gpu_baseline_metal-gpu-intervals",
    "completions": "gpu_baseline_metal-command-buffer-completed",
    "driver_intervals": "gpu_baseline_metal-driver-intervals",
    "encoders": "gpu_baseline_metal-application-encoders-list",
    "gpu_states": "gpu_baseline_metal-gpu-state-intervals",
    "cpu_profile": "gpu_baseline_time-profile",
}
_NUMBERS = {"start", "duration", "start-latency", "cmdbuffer-id", "weight"}
_LABEL = {"event-label": "label"}


def read_rows(file: Path) -> pd.DataFrame:
    """Read the rows of one export: numbers where a column is one, else the formatted text."""
    root = etree.parse(str(file)).getroot()
    names = [str(name.text) for name in root.iter("mnemonic")]
    elements = {element.get("id"): element for element in root.iter() if element.get("id")}
    rows: list[dict[str, Any]] = []
    for row in root.iter("row"):
        cells: dict[str, Any] = {}
        for name, child in zip(names, row, strict=False):
            element = elements.get(child.get("ref"), child)
            is_number = name in _NUMBERS and (element.text or "").isdigit()
            cells[_LABEL.get(name, name)] = (
                int(element.text) if is_number else element.get("fmt") or element.text
            )
        rows.append(cells)
    return pd.DataFrame(rows)


def questions() -> dict[str, str]:
    """Return the questions of SKILL.md with their SQL."""
    rows = re.findall(r"^\| (.+\?) \| `(.+)` \|$", SKILL.read_text(), re.MULTILINE)
    return dict(rows)


@pytest.fixture(scope="module")
def trace(corpus: Path) -> Path:
    folder = corpus / TRACES
    if not (folder / "gpu_baseline.trace").is_dir():
        pytest.skip(f"no trace gpu_baseline.trace in {folder}")
    return folder


@pytest.fixture(scope="module")
def real_run(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions") / "run"
    assert run("import", trace / "gpu_baseline.trace", "--output", folder) == 0
    assert run("analyze", folder) == 0
    return folder


@pytest.fixture(scope="module")
def raw(trace: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name, file in EXPORTS.items():
        connection.register(name, read_rows(trace / f"xctrace_{file}.xml"))
    connection.execute(VIEWS)
    return connection


@pytest.fixture
def ask(real_run: Path, tracekit: Any) -> Callable[[str], list[dict[str, Any]]]:
    def answer(sql: str) -> list[dict[str, Any]]:
        result = tracekit("query", sql, real_run, "--json", "--rows", 2000)
        assert result.code == 0, result.err
        return json.loads(result.out)["rows"]

    return answer


def test_there_are_twenty_questions_and_few_words() -> None:
    assert len(questions()) == 20
    assert estimate_tokens(SKILL.read_text()) <= 2000
    assert RAW.keys() < questions().keys()


@pytest.mark.corpus
def test_answers_from_tables_are_those_of_the_raw_exports(
    raw: duckdb.DuckDBPyConnection, ask: Any, subtests: pytest.Subtests
) -> None:
    for question, sql in RAW.items():
        with subtests.test(question):
            expected = [list(row) for row in raw.execute(sql).fetchall()]
            answer = [list(row.values()) for row in ask(questions()[question])]
            if question.startswith("Which thread"):
                expected = [[int(tid, 16), *others] for tid, *others in expected]
            assert expected
            assert answer == [pytest.approx(row) for row in expected]


@pytest.mark.corpus
def test_the_longest_gap_is_that_of_the_raw_exports_and_has_a_cause(
    raw: duckdb.DuckDBPyConnection, ask: Any
) -> None:
    sql = """
        select before, a - before from merged where a > before order by 2 desc limit 1"""
    [(start, duration)] = raw.execute(sql).fetchall()
    [gap] = ask(questions()["What is the longest gap, and why?"])
    assert (gap["start"], gap["duration"]) == (start, duration) == (757217000, 1008000)
    assert (gap["cause"], gap["second_cause"]) == ("late-start", "way-back")
    assert 0 < gap["second_share"] < gap["share"] < 1
    assert gap["before"] == gap["after"] == "Command Buffer 0:Compute Command 0"


@pytest.mark.corpus
def test_causes_are_of_all_gaps(ask: Any) -> None:
    [whole] = ask("select count(*) n, sum(duration)::bigint ns from gaps")
    causes = ask(questions()["What causes the gaps?"])
    assert sum(row["n"] for row in causes) == whole["n"]
    assert sum(row["ns"] for row in causes) == whole["ns"]
    assert causes[0]["cause"] == "start-latency"


@pytest.mark.corpus
def test_findings_and_checks_are_those_of_the_result(real_run: Path, ask: Any) -> None:
    result = str(real_run / "result.json")
    ranked = duckdb.execute(
        "select row_number() over (), f.rule, f.cause, f.lever, f.saving from "
        "(select unnest(findings) f from read_json(?))",
        [result],
    ).fetchall()
    answer = ask(questions()["What was found, and what would it save?"])
    assert [tuple(row.values()) for row in answer] == ranked
    for question, sql in OF_RESULT.items():
        expected = duckdb.execute(sql, [result]).fetchall()
        assert expected, question
        assert [tuple(row.values()) for row in ask(questions()[question])] == expected, question


@pytest.mark.corpus
def test_the_windows_of_the_first_finding_are_gaps_of_the_raw_exports(
    raw: duckdb.DuckDBPyConnection, ask: Any
) -> None:
    windows = ask(questions()["Which windows show a finding?"])
    ends = {row[0] for row in raw.execute("select b from work").fetchall()}
    starts = {row[0] for row in raw.execute("select a from work").fetchall()}
    assert len(windows) == 20
    for window in windows:
        assert window["start"] in ends or window["start"] < min(starts), window
        assert window["start"] + window["duration"] in starts, window
        assert window["note"], window


@pytest.mark.corpus
def test_the_commands_of_agents_md_answer(real_run: Path, tracekit: Any, ask: Any) -> None:
    text = AGENTS.read_text()
    queries = QUERY.findall(text)
    assert len(queries) >= 3
    for sql in queries:
        assert ask(sql), sql
    for words in re.findall(r"`tracekit ((?:analyze|report|tables) [^`]+)`", text):
        line = words.replace("RUN", str(real_run)).replace("ID", "1").replace("NAME", "bubbles")
        result = tracekit(*line.split())
        assert (result.code, bool(result.out)) == (0, True), words
