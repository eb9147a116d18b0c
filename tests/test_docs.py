"""The reference is written by the code; the rest of the docs keeps its promises.

`pytest --update-goldens` (or `just update`) rewrites docs/reference.
"""

import dataclasses
import io
import re
import tomllib
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import pytest

import plan_page
import symptom_page
from command_line import iterate_commands
from guide_rows import guides_page
from json_documents import BY_FORM, SCHEMA, schema_page
from tracekit.analysis.dispatches.quantities import MEANINGS
from tracekit.analysis.given import recorded_tables
from tracekit.analysis.inject import thresholds
from tracekit.analysis.levers import Mechanism, lever_of
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.program import ProgramKind
from tracekit.analysis.result import Measurement, Result, RuleCheck
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES
from tracekit.base.recording import Provenance
from tracekit.cli.main import application
from tracekit.cli.names import GROUPS, MOVED_OPTIONS, RAN_ALONE, RENAMED, RENAMED_OPTIONS, RUN
from tracekit.nightly.plan.followed import FOLLOWED
from tracekit.pipeline import needed_tables
from tracekit.record.asking import ALL_QUESTIONS
from tracekit.tables.joins import read_inputs
from tracekit.tables.schema import Column, ColumnKind, Schema
from tracekit.tables.schemas import SCHEMAS

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"


COMMANDS = sorted(name for name, _ in iterate_commands())


def help_of(*words: str) -> str:
    arguments = [*words, "--help"]
    output = io.StringIO()
    with redirect_stdout(output):
        end = application(arguments).main(
            arguments, prog_name="tracekit", terminal_width=90, standalone_mode=False
        )
    assert not end, end
    return "\n".join(line.rstrip() for line in output.getvalue().strip().splitlines())


def commands_page() -> str:
    pages = [f"## {name}\n\n```text\n{help_of(*name.split())}\n```\n" for name in COMMANDS]
    workload = help_of("capture", "--workload", "paged")
    added = workload[workload.index("--batch") :]
    return (
        "# Commands\n\nThe output of `tracekit --help`, and of `tracekit COMMAND --help`.\n\n"
        f"```text\n{help_of()}\n```\n\n"
        + names_of_before()
        + "\n".join(pages)
        + "\n## capture --workload paged\n\nThe workload's own parameters come after the "
        + f"options above:\n\n```text\n  {added}\n```\n"
    )


def names_of_before() -> str:
    new_names = {group: f"{group} {RUN}" for group in RAN_ALONE} | RENAMED | MOVED_OPTIONS
    for old, option in RENAMED_OPTIONS.items():
        command, _ = old.rsplit(" ", 1)
        new_names[old] = f"{command} {option}"
    rows = [f"| `tracekit {old}` | `tracekit {new_names[old]}` |\n" for old in sorted(new_names)]
    return (
        "## Names of before\n\nThese names work in 0.1, with all arguments and exit codes. Each "
        "one names the new one on stderr.\n\n| before | now |\n|---|---|\n" + "".join(rows) + "\n"
    )


def reads(function: Callable[..., object]) -> str:
    """Return the tables of a recording that a function reads, itself or by what it asks for."""
    names = sorted(recorded_tables(function) & set(SCHEMAS))
    return f"Reads: {', '.join(f'`{name}`' for name in names)}." if names else ""


def rules_page() -> str:
    title = (
        "# Rules\n\nThe output of `tracekit list rules RULE`, with the tables that each reads.\n"
    )
    parts = [title]
    for name, rule in RULES.items():
        limits = ", ".join(f"`{key}` = {value}" for key, value in thresholds(rule.judge).items())
        parts += [f"\n## {name}\n\n{rule.title}\n"]
        parts += [f"\n**{head}.** {text}\n" for head, text in rule.sections.items()]
        last_parts = [reads(rule.judge), f"Thresholds: {limits}." if limits else ""]
        parts += [f"\n{' '.join(filter(None, last_parts))}\n" if any(last_parts) else ""]
    return "".join(parts)


def levers_page() -> str:
    rows: list[str] = []
    for mechanism in Mechanism:
        lever = lever_of(mechanism)
        own_kinds = [kind for kind in ProgramKind if lever_of(mechanism, kind) is not lever]
        levers = [lever, *(lever_of(mechanism, kind) for kind in own_kinds)]
        sources = dict.fromkeys(source for kind_lever in levers for source in kind_lever.sources)
        rows += [
            f"| `{mechanism}` | {lever.formula} | {', '.join(own_kinds)} | {'; '.join(sources)} |\n"
        ]
    return (
        "# Levers\n\nA finding names its mechanism as `lever`, and gives advice in the words of "
        "the target's kind of program. If a mechanism does not list that kind, the advice uses "
        "its neutral words. Kinds are recognized by names of kernels, libraries in sampled "
        "stacks, the name and the arguments of the process, loaded libraries, channels and "
        "presents; if these signs disagree, the kind is `unknown`. All words, settings and their "
        "sources are in `tracekit/analysis/levers.toml`.\n\n"
        "| mechanism | how the saving is estimated | own words for | measured or accepted in |\n"
        "|---|---|---|---|\n" + "".join(rows)
    )


def metrics_page() -> str:
    rows = [
        f"| `{metric.name}` | {metric.unit} | {metric.better} | "
        f"{' '.join(metric.meaning.split())} |\n"
        for metric in METRICS.values()
    ]
    return (
        "# Metrics\n\nEvery result has all of these metrics, in this order. A metric that is not "
        "available has the value `null` and a `reason`.\n\n| name | unit | better | meaning |\n"
        "|---|---|---|---|\n" + "".join(rows)
    )


# The families of `schemas.toml`, in its order: the page of each, its first table, its title.
FAMILIES = {
    "workload": ("phases", "Tables of a workload"),
    "capture": ("capture_calls", "Tables of a GPU frame capture"),
    "submission": ("command_buffers", "Tables of the way to the device"),
    "gpu": ("gpu_intervals", "Tables of the GPU"),
    "shaders": ("shaders", "Tables of shaders"),
    "programs": ("application_intervals", "Tables of programs"),
    "memory": ("resource_allocations", "Tables of memory"),
    "host": ("cpu_profile", "Tables of the host"),
    "machine": ("gpus", "Tables of the machine and its displays"),
    "losses": ("losses", "The table of losses"),
}
COMMON_COLUMN = 6  # tables: a column of more is in the index without their names


def family_tables(family: str) -> list[Schema]:
    """Return the tables of a family: from its first one to the first of the next family."""
    first_tables = {first: name for name, (first, _) in FAMILIES.items()}
    current = ""
    tables: list[Schema] = []
    for schema in SCHEMAS.values():
        current = first_tables.get(schema.name, current)
        if current == family:
            tables.append(schema)
    return tables


def family_page(family: str) -> str:
    _, title = FAMILIES[family]
    head = (
        f"# {title}\n\n[All tables](tables.md), by name and by column. Times are int64 nanoseconds "
        "from the start of the trace; null means that the recording does not give the value.\n"
    )
    return head + "".join(map(_table, family_tables(family)))


def tables_page() -> str:
    needed = needed_tables()
    head = (
        "# Tables\n\nFor readers of a recording in SQL, Python or a spreadsheet: find a table by "
        "its name, the schema of Instruments that it comes from, or one of its columns. `tracekit "
        'tables RUN NAME` and `tracekit.open(run).tables["NAME"]` give it.\n\n'
        "A table is read from the first of its schemas that was exported, or joined from other "
        "tables. The sources of those marked with ● are in the default export of a recording; "
        "`tracekit export RUN --tables needed,NAME` adds others. `tracekit convert` turns any "
        "other data of a trace into flat tables.\n"
    )
    parts = [head]
    for family, (_, title) in FAMILIES.items():
        rows = [_index_row(schema, family, needed) for schema in family_tables(family)]
        parts += [
            f"\n## {title}\n\n| table | | a row | from |\n|---|---|---|---|\n",
            *rows,
        ]
    return "".join([*parts, columns_index()])


def _index_row(schema: Schema, family: str, needed: Container[str]) -> str:
    mark = "●" if schema.name in needed else ""
    meaning = re.split(r"(?<=[.:]) ", " ".join(schema.meaning.split()))[0].rstrip(".:")
    row = meaning.removeprefix("One row for each ").removeprefix("One row for ")
    sources = ", ".join(f"`{source.schema}`" for source in schema.sources)
    return f"| [`{schema.name}`](tables-{family}.md#{schema.name}) | {mark} | {row} | {sources} |\n"


def columns_index() -> str:
    family_of = {schema.name: family for family in FAMILIES for schema in family_tables(family)}
    places: dict[str, list[str]] = {}
    for schema in SCHEMAS.values():
        for column in schema.columns:
            places.setdefault(column.name, []).append(schema.name)
    rows = [
        f"| `{column}` | {_column_tables(places[column], family_of)} |\n"
        for column in sorted(places)
    ]
    head = "\n## Columns\n\n| column | in |\n|---|---|\n"
    return head + "".join(rows)


def _column_tables(tables: list[str], family_of: Mapping[str, str]) -> str:
    if len(tables) > COMMON_COLUMN:
        return f"{len(tables)} tables"
    return ", ".join(f"[`{name}`](tables-{family_of[name]}.md#{name})" for name in tables)


def _table(schema: Schema) -> str:
    rows = [
        f"| `{column.name}` | {column.kind} | {_unit(column)} | "
        f"{column.source and f'`{column.source}`'} "
        f"| {column.meaning}{column.since and f' (since {column.since})'} |\n"
        for column in schema.columns
    ]
    origin = _origin(schema)
    more = f"\nFurther columns: {schema.more}.\n" if schema.more else ""
    versions = f"\nVersions: {schema.versions}\n" if schema.versions else ""
    return (
        f"\n## {schema.name}\n\n{schema.meaning}\n\n{origin}\n\n"
        "| column | kind | unit | mnemonic | meaning |\n|---|---|---|---|---|\n"
        + "".join(rows)
        + more
        + versions
    )


def _unit(column: Column) -> str:
    times = {ColumnKind.TIME, ColumnKind.INSTANT, ColumnKind.DURATION}
    return "ns" if column.kind in times else column.unit


def _origin(schema: Schema) -> str:
    origins = [f"From {', '.join(f'`{source.schema}`' for source in schema.sources)}."]
    if not schema.sources:
        origins = []
    if schema.join is not None:
        names = read_inputs(schema.join)
        parts = ", ".join(f"`{name}`" for name in names.required)
        more = ", ".join(f"`{name}`" for name in names.optional)
        origins.append(f"Joined from {parts}{more and f'; if available, also from {more}'}.")
    return " ".join(reversed(origins) if schema.joined_first else origins)


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "guides.md": guides_page,
    "json.schema.json": schema_page,
    "levers.md": levers_page,
    "metrics.md": metrics_page,
    "rules.md": rules_page,
    "tables.md": tables_page,
    **{f"tables-{family}.md": partial(family_page, family) for family in FAMILIES},
}


def test_each_table_is_in_one_family() -> None:
    names = [schema.name for family in FAMILIES for schema in family_tables(family)]
    assert names == [*SCHEMAS]


@pytest.mark.parametrize("name", PAGES)
def test_the_reference_agrees_with_the_code(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(REFERENCE / name, PAGES[name]())


def pages() -> Iterator[tuple[str, Path]]:
    for file in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        yield file.read_text(), file


def test_every_link_leads_somewhere() -> None:
    links = [
        (file.parent / target, file.name)
        for text, file in pages()
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
        if not target.startswith(("https:", "mailto:"))
    ]
    assert len(links) > 100
    assert [link for link in links if not link[0].exists()] == []


def test_every_command_in_the_docs_exists() -> None:
    mentions = [
        (command, file.name)
        for text, file in pages()
        for block in re.findall(r"```(?:bash|console|sh)\n(.*?)```", text, re.DOTALL)
        for command in re.findall(r"(?<![\w/.-])tracekit ([a-z][a-z -]*)", block)
    ]
    assert len(mentions) > 100
    assert [mention for mention in mentions if not is_command(mention[0])] == []


def is_command(words: str) -> bool:
    """Tell whether words begin with the whole name of a command, and not only with its group."""
    paths_of_commands = [path for path in COMMANDS if path not in GROUPS]
    return any(f"{words.strip()} ".startswith(f"{path} ") for path in paths_of_commands)


def shown_texts() -> Iterator[tuple[str, str]]:
    """Yield every file that holds messages, comments for users or pages, and its name."""
    for folder in ("tracekit", "templates", "workloads", "docs", ".ci", ".github"):
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and file.suffix != ".pyc" and file.name != "names.py":
                yield file.read_bytes().decode(errors="replace"), file.name
    for file in ROOT.glob("*.md"):
        yield file.read_text(), file.name


def test_the_citation_has_the_version_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text()


def test_no_page_or_message_uses_a_name_of_before() -> None:
    old_names = "|".join([*RENAMED, *MOVED_OPTIONS])
    old_options = "|".join(old.replace(" --", "[^`\n]* --") for old in RENAMED_OPTIONS)
    # At the beginning of a line, or between backticks, or after another command.
    starts = r"(?:`|^|\$ |&& |uv run )"
    pattern = re.compile(
        rf"{starts}tracekit (?:{old_names}|{old_options})(?![\w-])[^`\n]*", re.MULTILINE
    )
    uses = [
        (use, name)
        for text, name in shown_texts()
        for use in pattern.findall(text)
        if name != "commands.md"
    ]
    assert uses == [("`tracekit gate", "README.md")]  # an example of a name of before


def test_the_checks_of_a_symptom_are_those_of_the_code(golden: Callable[[Path, str], None]) -> None:
    file = REFERENCE / "doctor.md"
    golden(file, symptom_page.symptom_page(file.read_text()))


def test_the_keys_of_a_nights_plan_are_those_of_the_code(
    golden: Callable[[Path, str], None],
) -> None:
    file = REFERENCE / "night-plan.md"
    page = file.read_text()
    golden(file, plan_page.plan_page(page))
    assert [metric for metric in FOLLOWED if f"`{metric}`" not in page] == []


def write_table(text: str, end: str, columns: list[str], rows: list[list[str]]) -> str:
    """Return a page with a table between two marks: that it is written here, and its end."""
    begin = "<!-- written by tests/test_docs.py -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    table = [columns, ["---"] * len(columns), *rows]
    lines = [f"| {' | '.join(cells)} |\n" for cells in table]
    return f"{before}{begin}\n\n{''.join(lines)}\n{end}{after}"


def test_the_quantities_of_a_dispatch_are_those_of_the_code(
    golden: Callable[[Path, str], None],
) -> None:
    file = ROOT / "docs" / "how-to" / "check-a-dispatch.md"
    rows = [[f"`{name}`", meaning] for name, meaning in MEANINGS.items()]
    end = "<!-- end of quantities -->"
    golden(file, write_table(file.read_text(), end, ["quantity", "meaning"], rows))


def test_the_questions_of_the_doctor_are_those_of_the_code(
    golden: Callable[[Path, str], None],
) -> None:
    file = REFERENCE / "doctor.md"
    rows: list[list[str]] = []
    for question in ALL_QUESTIONS:
        need = "the GPU of a chip" if question.needs_gpu else ""
        rows.append([f"`{question.name}`", question.words, f"{question.limit:.0f} s", need])
    end = "<!-- end of questions -->"
    columns = ["ID", "question", "at most", "needs"]
    golden(file, write_table(file.read_text(), end, columns, rows))


def test_the_documents_of_commands_are_those_of_the_code(
    golden: Callable[[Path, str], None],
) -> None:
    file = REFERENCE / "json.md"
    rows: list[list[str]] = []
    for kind in sorted(set(BY_FORM.values())):
        commands = sorted(command for command in BY_FORM if BY_FORM[command] == kind)
        description = " ".join(SCHEMA["$defs"][kind]["description"].split())
        first_sentence = re.split(r"(?<=\.) ", description)[0]
        rows.append(
            [", ".join(f"`{command}`" for command in commands), f"`{kind}`", first_sentence]
        )
    end = "<!-- end of documents -->"
    columns = ["commands", "definition", "contents"]
    golden(file, write_table(file.read_text(), end, columns, rows))


# The index of packages has another project under the name tracekit, and no metaltrace yet.
FROM_THE_INDEX = re.compile(
    r"\b(?:(?:pip3?|pipx|uv pip|uv tool) install|pipx run|uv add|uvx)\b[^\n`&;|]*"
    r"(?<![\w./-])(?:tracekit|metaltrace)(?![\w.])|\b(?:tracekit|metaltrace)\[[a-z]"
)
AFTER_A_RELEASE = re.compile(r"(?i:after a release)\b[^.]*")
OWN_EXTRAS = re.compile(r'"metaltrace\[[a-z,]+\]"')  # pyproject.toml names itself


def test_no_file_says_to_install_tracekit_from_the_index_of_packages() -> None:
    files = [
        *(
            file
            for folder in ("tracekit", "docs", "workloads")
            for file in (ROOT / folder).rglob("*")
        ),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml", "justfile")),
    ]
    texts: dict[Path, str] = {}
    for file in files:
        if file.is_file():
            text = file.read_bytes().decode(errors="replace")
            texts[file] = OWN_EXTRAS.sub("", AFTER_A_RELEASE.sub("", text))
    of_source = {file: text for file, text in texts.items() if file.suffix != ".pyc"}
    assert len(of_source) > 400
    assert {
        file: matches
        for file, text in of_source.items()
        if (matches := FROM_THE_INDEX.findall(text))
    } == {}


def test_every_extra_is_documented_and_those_of_the_docs_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    command = re.compile(r"uv sync (?:--inexact )?((?:--extra \w+ ?)+)")
    named_extras: set[str] = set()
    for text, _ in pages():
        for options in command.findall(text):
            named_extras.update(re.findall(r"--extra (\w+)", options))
    declared_extras = set(project["optional-dependencies"])
    assert named_extras
    assert named_extras <= declared_extras
    table = (ROOT / "docs" / "explanation" / "dependencies.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == declared_extras


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    requirements = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    for lines in project["project"]["optional-dependencies"].values():
        requirements += lines
    names = {re.split(r"[^A-Za-z0-9-]", requirement)[0] for requirement in requirements}
    names.discard(project["project"]["name"])
    reasons = (ROOT / "docs" / "explanation" / "dependencies.md").read_text()
    assert [name for name in names if f"**{name}**" not in reasons] == []


def test_every_field_of_a_result_is_documented() -> None:
    page = (REFERENCE / "result.md").read_text()
    documented = set(re.findall(r"`(?:\w+\[\]\.)?(\w+)`", page))
    kinds = (Result, Measurement, Finding, RuleCheck, Provenance)
    fields = {field.name for kind in kinds for field in dataclasses.fields(kind)}
    assert fields - documented == set()
