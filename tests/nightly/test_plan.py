"""From a file to a plan: what each key becomes, what decides, and what mistakes are told."""

import dataclasses
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from git_program import git
from tracekit.analysis.metrics import METRICS
from tracekit.base.errors import UsageError
from tracekit.machine.state import StateLimits
from tracekit.nightly.plan.document import STARTER, has_plan, open_document, write_starter
from tracekit.nightly.plan.followed import FOLLOWED, UNTRACED, find_default_threshold
from tracekit.nightly.plan.plan import (
    STATE,
    Bytes,
    Capture,
    Command,
    Commands,
    Gated,
    Name,
    NightPlan,
    Pressure,
    Reference,
    Seconds,
    Share,
    Text,
    Texts,
    allow_imports,
    convert_value,
)
from tracekit.nightly.plan.reading import history_of, read_plan

Plan = Callable[[str], NightPlan]
Refused = Callable[[str | bytes], UsageError]
Golden = Callable[[str, str], None]
HERE = Path(__file__).parent / "plan"
WHOLE = (HERE / "whole.toml").read_text()
HEAD = '[nightly]\n[[nightly.capture]]\nworkload = "paged"\n'
REFERENCE = HEAD + 'reference.revision = "main"\n'


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    folder = tmp_path / "-paged nights-"
    folder.mkdir()
    return folder / "tracekit.toml"


@pytest.fixture
def plan_of(plan_file: Path) -> Plan:
    def read(text: str) -> NightPlan:
        plan_file.write_text(text, encoding="utf-8")
        return read_plan(plan_file)

    return read


@pytest.fixture
def refused(
    plan_file: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str | bytes], UsageError]:
    """Return the error of a text that says no plan; messages name the file in short."""
    monkeypatch.chdir(plan_file.parent)

    def read(text: str | bytes) -> UsageError:
        plan_file.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(UsageError) as refusal:
            read_plan(plan_file)
        assert refusal.value.exit_code == 2
        return refusal.value

    return read


def test_every_key_becomes_its_value(plan_of: Plan, plan_file: Path, golden: Golden) -> None:
    """What holds for all captures gives way to what one says."""
    plan = plan_of(WHOLE)
    shortened_captures = [
        replace(capture, metrics=capture.metrics[:2]) for capture in plan.captures
    ]
    plain_plan = msgspec.to_builtins(
        replace(plan, captures=tuple(shortened_captures)), enc_hook=str
    )
    golden("plan/whole.txt", list_values(plain_plan).replace(str(plan_file.parent), "FOLDER"))


def list_values(value: Any, route: str = "") -> str:
    if isinstance(value, dict | list | tuple) and value:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return "".join(list_values(inner, f"{route} {key}".strip()) for key, inner in pairs)
    return f"{route} = {value!r}\n"


def test_absent_keys_have_their_defaults(plan_of: Plan, plan_file: Path) -> None:
    plan, folder = plan_of(HEAD), plan_file.parent
    assert (plan.name, plan.output) == ("paged-nights", folder / "bench" / "nights")
    assert plan.history == f"sqlite:///{folder}/bench/nights/history.db"
    (capture,) = plan.captures
    assert replace(capture, metrics=()) == Capture("paged", "paged")
    assert (plan.budget, plan.retries, plan.state) == (7200.0, 5, StateLimits())
    assert set(STATE) == {field.name for field in dataclasses.fields(StateLimits)}
    text = HEAD.replace("[nightly]", '[nightly]\ndefaults.reference.revision = "main"')
    for more, reference in (("", Reference(revision="main")), ("reference = false\n", None)):
        (capture,) = plan_of(text + more).captures
        assert capture.reference == reference
    capture_lines = 'workload = "gone"\nworkloads = "work"\nreference.python = "old/python"\n'
    plan_file.write_text(HEAD.replace('workload = "paged"\n', capture_lines))
    (capture,) = read_plan(plan_file, work=False).captures
    assert capture.workloads == folder / "work", "paths are relative to the plan"
    assert capture.reference is not None
    assert capture.reference.python == folder / "old/python"


SHARED = "[project]\nname = 'x'\n" + re.sub(r"(\[+)nightly", r"\1tool.tracekit.nightly", WHOLE)


def test_a_plan_in_a_shared_file_is_named_by_its_tables(plan_of: Plan, plan_file: Path) -> None:
    shared = plan_file.with_name("pyproject.toml")
    shared.write_text(f"{SHARED}[tool.other]\na = 1\n")
    assert plan_of(WHOLE) == replace(read_plan(shared), file=plan_file)
    shared.write_text("[project]\nname = 'x'\n[tool.tracekit.nightly]\nbudgt = '1h'\n")
    with pytest.raises(UsageError) as refusal:
        read_plan(shared)
    assert "4: tool.tracekit.nightly.budgt is not a key" in refusal.value.message
    assert "3: tool.tracekit.nightly.capture must be" in refusal.value.message


@pytest.mark.parametrize(("name", "text"), [("tracekit", HEAD), ("pyproject", SHARED)])
def test_the_nearest_plan_is_found_from_below(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower_folder = tmp_path / "a" / "b"
    lower_folder.mkdir(parents=True)
    (lower_folder / "pyproject.toml").write_bytes(b"[project\n\xff")  # broken, and without a plan
    monkeypatch.chdir(lower_folder)
    with pytest.raises(UsageError, match=r"no tracekit\.toml in .* or above, and no pyproject"):
        read_plan()
    text = f"\ufeff{text}"
    (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8", newline="\r\n")
    assert read_plan().file == tmp_path / f"{name}.toml"
    (lower_folder / "tracekit.toml").write_text(HEAD)
    (lower_folder / "pyproject.toml").write_text("[tool.tracekit.nightly]\n")
    assert read_plan().file == lower_folder / "tracekit.toml"


def test_a_workload_imports_from_its_plans_pythonpath(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (".git", "src", "work"):
        (tmp_path / folder).mkdir()
    (tmp_path / "src" / "kernels_of_mine.py").write_text("COST = 3\n")
    (tmp_path / "work" / "spin.py").write_text(
        "from kernels_of_mine import COST\n"
        "from tracekit.workload import Step, workload\n\n\n"
        "@workload\n"
        "def spin(cost: int = COST) -> Step:\n"
        '    """Spin."""\n'
        '    return Step(submit=lambda: None, wait=lambda _: None, backend="cpu")\n'
    )
    plan = tmp_path / "tracekit.toml"
    work = HEAD.replace("paged", "spin") + 'workloads = "work"\nparameters.price = 1\n'
    plan.write_text(work + 'reference = { revision = "HEAD", pythonpath = ["src"] }\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no parameter 'price'"):
        read_plan(plan)
    assert "tracekit.workloads.spin" in sys.modules, "the file was loaded"
    assert "kernels_of_mine" not in sys.modules, "another commit may have others of this name"
    assert str(tmp_path / "src") not in sys.path


def test_deciding_metrics(plan_of: Plan) -> None:
    for text, expected in (
        (HEAD, []),
        (REFERENCE, ["step_p50"]),
        (REFERENCE + "pairs = 6", ["step_p50"]),
        (REFERENCE + "metrics.tokens_per_second = 0.05", ["tokens_per_second"]),
        (REFERENCE + "metrics.steady_compiles = 1", ["steady_compiles"]),
        (REFERENCE + "traced = 6\nmetrics.idle_ratio = 0.02", ["idle_ratio"]),
        (REFERENCE + "pairs = 2\nmetrics.step_p50 = { gate = false }", []),
    ):
        (capture,) = plan_of(text).captures
        assert [metric.metric for metric in capture.metrics if metric.gate] == expected, text
        names = [metric.metric for metric in capture.metrics]
        assert (names[: len(expected)], sorted(names)) == (expected, sorted(FOLLOWED)), text
    assert {*FOLLOWED, *UNTRACED} <= set(METRICS)


def test_a_metric_may_be_one_s_own_usual_or_dropped(plan_of: Plan) -> None:
    chosen_metrics = (
        'encoder_count.better = "lower", cache_hits = { threshold = 0.1, better = "higher" }'
    )
    text = f"metrics = {{ {chosen_metrics}, step_p99 = true, memory_peak = false }}"
    (capture,) = plan_of(REFERENCE + text).captures
    assert capture.metrics[:3] == (
        Gated("encoder_count", 1.0, "difference", "lower"),
        Gated("cache_hits", 0.1, "ratio", "higher"), Gated("step_p99", 0.03, "ratio"),
    )  # fmt: skip
    assert "memory_peak" not in [metric.metric for metric in capture.metrics]
    (capture,) = plan_of(REFERENCE + "traced = 0").captures
    metric_names = {metric.metric for metric in capture.metrics}
    assert metric_names == {"step_p50", "step_p99", "tokens_per_second"}, "what turns tell"


def test_each_kind_of_metric_has_its_usual_threshold() -> None:
    expected = {
        **dict.fromkeys(("step_p50", "intervals_per_token", "hits"), ("ratio", 0.03)),
        "idle_ratio": ("difference", 0.02),
        **dict.fromkeys(("encoder_count", "thermal_pressure_worst"), ("difference", 1.0)),
    }
    assert {name: find_default_threshold(name) for name in expected} == expected


PLAN = """
[nightly]
[[nightly.capture]]
name = "decode"
workload = "paged"
parameters = { batch = 8, seed = 1 }
workloads = "own"
reference.python = "old/python"
"""


def test_a_changed_measurement_changes_the_digest(
    plan_of: Plan, plan_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "tracekit.toml").write_text(PLAN)
    for place in (tmp_path, plan_file.parent):
        for folder in ("own", "others"):
            (place / folder).mkdir()
    elsewhere = read_plan(tmp_path / "tracekit.toml").digest

    def is_same(old_text: str, new_text: str) -> bool:
        assert old_text in PLAN
        return plan_of(PLAN.replace(old_text, new_text)).digest == elsewhere

    assert is_same("", ""), "of a checkout elsewhere"
    for old_text, new_text in (
        ("batch = 8", "batch = 16"),
        ('name = "decode"', 'name = "prefill"'),
        ('"old/python"', '"new/python"'),
        ('workloads = "own"', 'workloads = "others"'),
        ("[nightly]", "[nightly]\ndefaults.pairs = 12"),
        ("[nightly]", "[nightly]\nmachine-state.load = 0.1"),
        ("[nightly]", "[nightly]\nretries = 1"),
    ):
        assert not is_same(old_text, new_text), new_text
    for old_text, new_text in (
        ("batch = 8, seed = 1", "seed = 1, batch = 8"),
        ("[nightly]", "[nightly]\nname = 'x'\nbudget = '1h'\nmachine = 'y'\noutput = 'z'"),
        ("[nightly]", "[nightly] # said again\ndefaults.pairs = 10"),
        ("[nightly]", "[nightly]\ndefaults = { metrics.step_p50 = 0.1, fail-on = 'bubbles' }"),
        ("[nightly]", "[nightly]\ndefaults = { parity = 'full', checks = ['true'] }"),
    ):
        assert is_same(old_text, new_text), new_text


def test_an_address_is_made_whole() -> None:
    folder = "/srv/plan folder"
    for url, whole_url in (
        ("sqlite:///a.db", f"sqlite:///{folder}/a.db"),
        ("a.db", f"sqlite:///{folder}/a.db"),
        ("sqlite:///../a.db", f"sqlite:///{folder}/../a.db"),
        ("sqlite:////var/b.db", "sqlite:////var/b.db"),
        ("postgresql://ada:p%2Fw@h:5433/n?s=r", "postgresql+psycopg://ada:p%2Fw@h:5433/n?s=r"),
    ):
        assert history_of(url, Path(folder)) == whole_url
    with pytest.raises(UsageError):
        history_of("sqlite:///:memory:", Path(folder))


def test_each_mistake_has_the_line_of_its_key_or_table(plan_file: Path, golden: Golden) -> None:
    text = (HERE / "lines.toml").read_text()
    plan_file.write_text(text)
    document = open_document(plan_file)
    lines = (f"{line}: {' '.join(map(str, route))}\n" for route, line in document.lines.items())
    golden("plan/lines.txt", "".join(lines))
    plan_file.write_text(text, newline="\r\n")
    assert open_document(plan_file).lines == document.lines
    routes = (("x", "missing", 3), ("t", 1, "u", "missing"), ("nothing",), ())
    assert [document.line(route) for route in routes] == [5, 26, 1, 1]


def test_the_starter_is_written_if_there_is_a_folder_and_no_plan(tmp_path: Path) -> None:
    file, shared = tmp_path / "tracekit.toml", tmp_path / "pyproject.toml"
    missing_plan = tmp_path / "gone" / "tracekit.toml"
    for place, words in ((shared, "for others as well"), (missing_plan, "There is no folder")):
        with pytest.raises(UsageError, match=words):
            write_starter(place)
    assert not shared.exists()
    assert 'revision = "COMMIT"' in write_starter(file).read_text(), "outside of a repository"
    file.write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        write_starter(file)
    assert file.read_text() == "mine"
    file.unlink()
    shared.write_text("[tool.tracekit.nightly]\n")
    with pytest.raises(UsageError, match="has a plan"):
        write_starter(file)
    assert not file.exists()


@pytest.mark.processes
def test_the_starter_measures_against_the_current_commit(tmp_path: Path) -> None:
    for words in ("init --quiet --initial-branch=trunk", "commit --quiet --allow-empty -m first"):
        git(tmp_path, *words.split())
    (capture,) = read_plan(write_starter(tmp_path / "tracekit.toml")).captures
    assert capture.reference is not None
    assert git(tmp_path, "rev-parse", "HEAD").startswith(capture.reference.revision)
    assert [metric.metric for metric in capture.metrics if metric.gate] == ["step_p50"]


def test_commented_keys_of_the_starter_can_be_used(plan_of: Plan) -> None:
    """Every line of TOML in a comment is one that a plan takes."""
    starter_text = STARTER.read_text()
    text = re.sub(r"^# (?=[a-z-]+ = )", "", starter_text, flags=re.MULTILINE)
    assert text.count("\n#") < starter_text.count("\n#") - 6
    (capture,) = plan_of(text).captures
    assert capture.fail_on == ("pipeline-churn",)
    assert capture.reference is not None
    assert (capture.reference.workload, capture.reference.setup) == ("sdpa", ("uv", "sync"))


def test_invalid_toml_is_refused_with_its_place(refused: Refused) -> None:
    for text, complaint in (
        ("a = 1\r\n\r\nb", "at end of document"),
        ("a = 1\na = 2\n", "at line 2, column 6"),
        (b"a = 1\nb = '\xff'\n", "0xff"),
        ("a = " + "[" * 50_000, ""),
        ("x = 1\n".encode("utf-16"), "utf-8"),
    ):
        message = refused(text).message
        assert message.startswith("tracekit.toml is not TOML: "), complaint
        assert complaint in message


def test_a_missing_file_is_reported_with_a_plan_to_paste(plan_of: Plan, plan_file: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no file .*tracekit\.toml") as refusal:
        read_plan(plan_file)
    assert "`tracekit nightly init`" in refusal.value.hint
    assert plan_of(refusal.value.hint.partition(":\n")[2]).captures[0].workload == "paged"


def test_a_search_keeps_foreign_additions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(sys, "path", ["/before"])
    with allow_imports(Reference(revision="v1"), tmp_path):
        assert sys.path == [str(tmp_path.resolve()), "/before"]
        sys.path.insert(0, "/added")
    assert sys.path == ["/added", "/before"]


BEGUN = {"": "", "HEAD": HEAD, "REFERENCE": REFERENCE, "UNFINISHED": HEAD[:30]}

# What stands before, then the lines; the number of the line that is told, what is said of it, and
# what the hint says.
MISTAKES = (HERE / "mistakes.txt").read_text().splitlines()


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_reported_with_its_line_and_a_remedy(case: str, refused: Refused) -> None:
    beginning, lines, line, complaint, hint = (part.strip() for part in case.split("|"))
    text = BEGUN[beginning] + lines.replace("; ", "\n").replace("HEAD", HEAD[10:])
    error = refused(text)
    assert error.message.startswith(f"tracekit.toml:{line}: "), error.message
    assert complaint in error.message
    assert hint in error.hint
    assert "\n" not in error.message
    assert "secret" not in error.message + error.hint


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file(refused: Refused) -> None:
    second = "[[nightly.capture]]\nname = 'Decode'\nworkload = 'sdpa'\npairs = 'ten'\n"
    head_lines = "[nightlyy]\n[nightly]\nbudget = 'soon'\ndefaults.turn = 0\n"
    error = refused(f"{head_lines}{HEAD[10:]}name = 'decode'\n{second}")
    head, *lines = error.message.splitlines()
    assert head == "tracekit.toml has 4 mistakes:"
    assert [line.split(": ")[0].strip() for line in lines] == [
        "tracekit.toml:1",
        *("tracekit.toml:3", "tracekit.toml:4", "tracekit.toml:11"),  # once, though two read it
    ]
    assert "`tracekit nightly init`" in error.hint


def test_a_workload_that_cannot_be_loaded_is_not_a_mistake(plan_of: Plan, plan_file: Path) -> None:
    for text in ("raise OSError('no disk')\n", "def ("):
        (plan_file.parent / "broken.py").write_text(text)
        more = "workloads = '.'\nparameters = { size = 1 }\n"
        (capture,) = plan_of(HEAD.replace("paged", "broken") + more).captures
        assert (capture.workload, capture.parameters) == ("broken", {"size": 1}), text


COUNT = Annotated[int, Meta(ge=1, le=9)]
TIME = Annotated[Seconds, Meta(ge=0.001, le=7200)]
FIT: list[tuple[Any, Any, Any]] = [
    (Share, 1.0, 1.0), (TIME, "300ms", 0.3), (TIME, "2h", 7200.0), (Seconds, "0s", 0.0),
    (Bytes, "1GiB", 1 << 30), (Bytes, "1.5 MB", 1_500_000), (Pressure, "light", 1),
    (Name, "décode_16.b+c-d", "décode_16.b+c-d"), (Path, "~/x", Path.home() / "x"),
    (Texts, "one", ("one",)), (Texts, ["one", "two"], ("one", "two")),
    (Command, "make 'a b'", ("make", "a b")), (Command, ["make", "a b"], ("make", "a b")),
    (Commands, [["a"], "b c"], (("a",), ("b", "c"))),
]  # fmt: skip
UNFIT: list[tuple[Any, Any]] = [
    (COUNT, 0), (COUNT, True), (Share, 1.001), (Share, -0.001), (Share, float("nan")),
    (Share, False), (TIME, "0s"), (TIME, "7201s"), (TIME, "1" * 400 + "h"), (Bytes, -1),
    (Pressure, 6), (Pressure, "hot"), (Name, "x" * 65), (Name, "a\nb"), (Name, "a\n"),
    (Name, ".."), (Text, ""), (Text, "a\0b"), (Path, "~nobody-of-this-name/x"), (Texts, [1]),
    (Command, "  "), (Command, "a 'b"), (Commands, [[]]), (Commands, "make"),
]  # fmt: skip


def test_valid_values_are_read_and_invalid_ones_refused() -> None:
    for kind, value, expected in FIT:
        result = convert_value(value, kind)
        assert (result, type(result)) == (expected, type(expected)), kind
    for kind, value in UNFIT:
        with pytest.raises(ValueError, match=r"\S"):
            pytest.fail(f"{kind} took {convert_value(value, kind)!r}")


LINES = (HERE / "fit.toml").read_text().splitlines()
NUMBERS = ["1", "-1", "0", "0.5", "nan", "-inf", "9" * 40, "true", "false"]
TEXTS = ['""', '"x"', "'5s'", "1979-05-27", "07:32:00"]
NESTED = ["[]", "[[]]", "[1]", '["x"]', "{}", "{ a = 1 }", "{ threshold = [] }"]
VALUES = st.sampled_from([*NUMBERS, *TEXTS, *NESTED])
KEYED = [place for place, line in enumerate(LINES) if " = " in line]


def attempt(folder: Path, text: str) -> NightPlan | UsageError:
    """Read a text as a plan; a mistake must name a line that the text has."""
    file = folder / "tracekit.toml"
    file.write_text(text, encoding="utf-8")
    try:
        return read_plan(file)
    except UsageError as refusal:
        error = refusal
    line_matches = re.findall(r"tracekit\.toml:(\d+): |at line (\d+)", error.message)
    lines = [int(line or second_number) for line, second_number in line_matches]
    assert lines or "end of document" in error.message
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)
    assert lines == sorted(lines)
    return error


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base_folder = tmp_path_factory.mktemp("any")
    assert isinstance(attempt(base_folder, "\n".join(LINES)), NightPlan)
    return base_folder


@given(
    st.sampled_from(KEYED), VALUES, st.text(st.characters(codec="utf-8"), max_size=8),
    st.integers(0, len("\n".join(LINES)) - 1), st.sampled_from("\"'[]{}=#.,\n \\x0é"),
)  # fmt: skip
def test_every_mistyped_key_is_reported_at_its_line(
    folder: Path, place: int, value: str, name: str, at: int, letter: str
) -> None:
    def attempt_line(line: str) -> NightPlan | UsageError:
        return attempt(folder, "\n".join([*LINES[:place], line, *LINES[place + 1 :]]))

    key, _, original_value = LINES[place].partition(" = ")
    outcome = attempt_line(f"{key} = {value}")
    if isinstance(outcome, UsageError) and "mistakes" not in outcome.message:
        line = int(outcome.message.partition(".toml:")[2].partition(":")[0])
        # A capture is named as a whole where the spoilt line is what it lacks now.
        assert line in {place + 1, 14, 21, 26, 27, 28}
    escaped = "".join(f"\\U{ord(character):08x}" for character in name)
    if isinstance(attempt_line(f'"{escaped}" = {original_value}'), NightPlan):
        assert name == key or key in {"tokens_per_second", "steady_compiles"}
    text = "\n".join(LINES)
    attempt(folder, text[:at] + letter + text[at:])  # a letter that slipped in


def test_a_shared_file_has_a_plan_only_with_its_table(tmp_path: Path) -> None:
    shared_file = tmp_path / "pyproject.toml"
    for text, is_plan in (
        ("[tool.tracekit.nightly]\n", True),
        ("[[ tool . tracekit . nightly . capture ]]\n", True),
        ("[tool.tracekit]\nnightly = { budget = '1h' }\n", True),
        ("[tool.tracekit.nightly]\nbudget = \n", True),  # not TOML: the mistake is to be reported
        ("[tool.layers]\ncontainers = ['tracekit.nightly']\n", False),
        ("# see tracekit.nightly\n[tool.tracekit]\nfolder = 'runs'\n", False),
        ("[tool]\ntracekit = 1\n", False),
        ("", False),
    ):
        shared_file.write_text(text)
        assert has_plan(shared_file) is is_plan, text
    assert not has_plan(tmp_path / "absent.toml")
