"""From a file to a plan: found, read, digested; what each key becomes, and what decides."""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tracekit.analysis.metrics import METRICS
from tracekit.base.errors import UsageError
from tracekit.base.git import done
from tracekit.machine.state import StateLimits
from tracekit.nightly.plan.document import STARTER, Route, open_document, write_starter
from tracekit.nightly.plan.plan import STATE, Capture, Gated, NightPlan, Reference
from tracekit.nightly.plan.reading import FOLLOWED, UNTRACED, history_of, read_plan, usual

Plan = Callable[[str], NightPlan]
SMALLEST = '[nightly]\n[[nightly.capture]]\nworkload = "paged"\n'
HERE = Path(__file__).parent
WHOLE = (HERE / "whole.toml").read_text()


def test_every_key_becomes_what_it_says(
    plan_of: Plan, plan_file: Path, request: pytest.FixtureRequest
) -> None:
    """What holds for all captures gives way to what one says."""
    plan = plan_of(WHOLE)
    own = [dataclasses.replace(each, metrics=each.metrics[:2]) for each in plan.captures]
    plain = msgspec.to_builtins(dataclasses.replace(plan, captures=tuple(own)), enc_hook=str)
    found = listed(plain).replace(str(plan_file.parent), "FOLDER")
    if request.config.getoption("--update-goldens"):
        (HERE / "whole.txt").write_text(found)
    assert found == (HERE / "whole.txt").read_text()


def listed(value: Any, within: str = "") -> str:
    """Return nested values, a line each behind all of its keys."""
    if isinstance(value, dict | list | tuple) and value:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return "".join(listed(each, f"{within} {key}".strip()) for key, each in pairs)
    return f"{within} = {value!r}\n"


def test_what_a_plan_does_not_say_is_usual(plan_of: Plan, plan_file: Path) -> None:
    plan = plan_of(SMALLEST)
    folder = plan_file.parent
    assert plan.name == "paged-nights"
    assert plan.output == folder / "bench" / "nights"
    assert plan.history == f"sqlite:///{folder}/bench/nights/history.db"
    (capture,) = plan.captures
    assert dataclasses.replace(capture, metrics=()) == Capture("paged", "paged")
    assert (plan.budget, plan.retries, plan.state) == (7200.0, 5, StateLimits())
    assert set(STATE) == {each.name for each in dataclasses.fields(StateLimits)}
    text = SMALLEST.replace("[nightly]", '[nightly]\ndefaults.reference.revision = "main"')
    for more, reference in (("", Reference(revision="main")), ("reference = false\n", None)):
        (capture,) = plan_of(text + more).captures
        assert capture.reference == reference
    asked = 'workload = "gone"\nworkloads = "work"\nreference.python = "old/python"\n'
    plan_file.write_text(SMALLEST.replace('workload = "paged"\n', asked))
    (capture,) = read_plan(plan_file, work=False).captures
    assert capture.workloads == folder / "work", "paths are relative to the plan"
    assert capture.reference is not None
    assert capture.reference.python == folder / "old/python"


SHARED = "[project]\nname = 'x'\n" + re.sub(r"(\[+)nightly", r"\1tool.tracekit.nightly", WHOLE)


def test_a_plan_is_the_same_in_a_shared_file(plan_of: Plan, plan_file: Path) -> None:
    shared = plan_file.with_name("pyproject.toml")
    shared.write_text(f"{SHARED}[tool.other]\na = 1\n")
    assert plan_of(WHOLE) == dataclasses.replace(read_plan(shared), file=plan_file)


@pytest.mark.parametrize(("name", "text"), [("tracekit", SMALLEST), ("pyproject", SHARED)])
def test_the_nearest_plan_is_found_from_below(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (below / "pyproject.toml").write_bytes(b"[project\n\xff")  # broken, and without a plan
    monkeypatch.chdir(below)
    with pytest.raises(UsageError, match=r"no tracekit\.toml in .* or above, and no pyproject"):
        read_plan()
    text = f"\ufeff{text}"
    (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8", newline="\r\n")
    assert read_plan().file == tmp_path / f"{name}.toml"
    (below / "tracekit.toml").write_text(SMALLEST)
    (below / "pyproject.toml").write_text("[tool.tracekit.nightly]\n")
    assert read_plan().file == below / "tracekit.toml"


def test_a_workload_may_import_what_the_pythonpath_of_its_plan_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "src" / "kernels_of_mine").mkdir(parents=True)
    (tmp_path / "src" / "kernels_of_mine" / "__init__.py").write_text("COST = 3\n")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "spin.py").write_text(
        "from kernels_of_mine import COST\n"
        "from tracekit.workload import Step, workload\n\n\n"
        "@workload\n"
        "def spin(cost: int = COST) -> Step:\n"
        '    """Spin."""\n'
        '    return Step(submit=lambda: None, wait=lambda _: None, backend="cpu")\n'
    )
    plan = tmp_path / "tracekit.toml"
    capture = '[nightly]\n[[nightly.capture]]\nworkload = "spin"\nworkloads = "work"\n'
    reference = '[nightly.capture.reference]\nrevision = "HEAD"\n'
    plan.write_text(f'{capture}parameters = {{ price = 1 }}\n{reference}pythonpath = ["src"]\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no parameter 'price'"):
        read_plan(plan)
    assert "kernels_of_mine" in sys.modules, "the file was loaded"
    assert str(tmp_path / "src") not in sys.path
    monkeypatch.delitem(sys.modules, "kernels_of_mine")


HEAD = '[nightly]\n[[nightly.capture]]\nworkload = "paged"\n'
REFERENCE = HEAD + 'reference.revision = "main"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD, []),
        (REFERENCE, ["step_p50"]),
        (REFERENCE + "pairs = 6", ["step_p50"]),
        (REFERENCE + "metrics.tokens_per_second = 0.05", ["tokens_per_second"]),
        (REFERENCE + "metrics.steady_compiles = 1", ["steady_compiles"]),
        (REFERENCE + "traced = 6\nmetrics.idle_ratio = 0.02", ["idle_ratio"]),
        (REFERENCE + "pairs = 2\nmetrics.step_p50 = { gate = false }", []),
    ],
)
def test_what_decides(text: str, expected: list[str], plan_of: Plan) -> None:
    (capture,) = plan_of(text).captures
    assert [metric.metric for metric in capture.metrics if metric.gate] == expected
    names = [metric.metric for metric in capture.metrics]
    assert names[: len(expected)] == expected
    assert sorted(names) == sorted(FOLLOWED)
    assert {*FOLLOWED, *UNTRACED} <= set(METRICS)


def test_a_metric_may_be_one_s_own_usual_or_dropped(plan_of: Plan) -> None:
    own = 'cache_hits = { threshold = 0.1, better = "higher" }'
    text = f"metrics = {{ {own}, step_p99 = true, memory_peak = false }}"
    (capture,) = plan_of(REFERENCE + text).captures
    assert capture.metrics[:2] == (
        Gated("cache_hits", 0.1, "ratio", "higher"), Gated("step_p99", 0.03, "ratio"),
    )  # fmt: skip
    assert "memory_peak" not in [metric.metric for metric in capture.metrics]
    (capture,) = plan_of(REFERENCE + "traced = 0").captures
    known = {metric.metric for metric in capture.metrics}
    assert known == {"step_p50", "step_p99", "tokens_per_second"}, "what turns tell"


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("step_p50", ("ratio", 0.03)), ("idle_ratio", ("difference", 0.02)),
        ("encoder_count", ("difference", 1.0)), ("thermal_pressure_worst", ("difference", 1.0)),
        ("intervals_per_token", ("ratio", 0.03)), ("hits", ("ratio", 0.03)),
    ],
)  # fmt: skip
def test_each_kind_of_metric_has_its_usual_threshold(
    metric: str, expected: tuple[str, float]
) -> None:
    assert usual(metric) == expected


PLAN = """
[nightly]
[[nightly.capture]]
name = "decode"
workload = "paged"
parameters = { batch = 8, seed = 1 }
workloads = "own"
reference.python = "old/python"
"""


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("batch = 8", "batch = 16", False),
        ('name = "decode"', 'name = "prefill"', False),
        ('"old/python"', '"new/python"', False),
        ('workloads = "own"', 'workloads = "others"', False),
        ('workloads = "own"', 'workloads = "own"\npairs = 12', False),
        ("[nightly]", "[nightly]\nmachine-state.load = 0.1", False),
        ("[nightly]", "[nightly]\nretries = 1", False),
        # Names, places and judgements do not.
        ("batch = 8, seed = 1", "seed = 1, batch = 8", True),
        ("[nightly]", "[nightly]\nname = 'x'\nbudget = '1h'\nmachine = 'y'\noutput = 'z'", True),
        ("[nightly]", "[nightly] # said again\ndefaults.pairs = 10", True),
        (
            'workloads = "own"',
            'workloads = "own"\nmetrics.step_p50 = 0.1\nfail-on = "bubbles"',
            True,
        ),
        ('workloads = "own"', 'workloads = "own"\nparity = "full"\nchecks = ["true"]', True),
    ],
)
def test_what_is_measured_changes_the_digest(
    before: str, after: str, same: bool, plan_of: Plan, tmp_path: Path
) -> None:
    (tmp_path / "tracekit.toml").write_text(PLAN)  # of a checkout elsewhere
    elsewhere = read_plan(tmp_path / "tracekit.toml").digest
    assert before in PLAN
    assert (plan_of(PLAN.replace(before, after)).digest == elsewhere) is same


FOLDER = Path("/srv/plan folder")


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("sqlite:///a.db", "sqlite:////srv/plan folder/a.db"),
        ("a.db", "sqlite:////srv/plan folder/a.db"),
        ("sqlite:///../a.db", "sqlite:////srv/plan folder/../a.db"),
        ("sqlite:////var/b.db", "sqlite:////var/b.db"),
        ("postgresql://ada:p%2Fw@h:5433/n?s=r", "postgresql+psycopg://ada:p%2Fw@h:5433/n?s=r"),
    ],
)
def test_an_address_is_made_whole(url: str, whole: str) -> None:
    assert history_of(url, FOLDER) == whole
    with pytest.raises(UsageError):
        history_of("sqlite:///:memory:", FOLDER)


CASES: dict[str, tuple[str, dict[Route, int]]] = {
    "plain": ("a = 1\nb = 2\n", {("a",): 1, ("b",): 2}),
    "indented, behind a comment": ("# a = 0\n\n  a = 1", {("a",): 3}),
    "table": ("# c\n[x] # d\na = 1", {("x",): 2, ("x", "a"): 3}),
    "dotted": ("x . y.z = 1\nx.y.u = 2", {("x", "y"): 1, ("x", "y", "z"): 1, ("x", "y", "u"): 2}),
    "quoted": ("'a b'.\"c\" = 1", {("a b", "c"): 1}),
    "quoted head": ('[x]\n[x."a.b/s"]\nc = 1', {("x", "a.b/s"): 2, ("x", "a.b/s", "c"): 3}),
    "array of several lines": ("a = [\n 'b',\n]\nc = 1", {("a", 0): 1, ("c",): 4}),
    "arrays that look like tables": ("a = [\n ['a'],\n ['b']\n]\nc = 1", {("c",): 5}),
    "inline table": ("[x]\na = { b = 1 }", {("x", "a", "b"): 2}),
    "tables": ("[[t]]\na = 1\n[[t]]\na = 2\n", {("t", 0): 1, ("t", 1): 3, ("t", 1, "a"): 4}),
    "table in the last of tables": (
        "[[t]]\n[t.u]\na = 1\n[[t]]\n[t.u]\na = 2",
        {("t", 0, "u", "a"): 3, ("t", 1, "u"): 5, ("t", 1, "u", "a"): 6},
    ),
    "carriage returns": ("a = 1\r\n[x]\r\nb = 2\r\n", {("x", "b"): 3}),
    "not written": ("z = 1\n[a]\nb = 1\n", {("a", "missing", 3): 2, ("nothing",): 1, (): 1}),
}


@pytest.mark.parametrize("name", CASES)
def test_each_key_has_its_line(name: str, tmp_path: Path) -> None:
    text, expected = CASES[name]
    (tmp_path / "any.toml").write_bytes(text.encode())
    found = open_document(tmp_path / "any.toml")
    assert {route: found.line(route) for route in expected} == expected


def test_the_starter_is_written_where_there_is_a_folder_and_no_plan(tmp_path: Path) -> None:
    file, shared = tmp_path / "tracekit.toml", tmp_path / "pyproject.toml"

    def refused(place: Path, words: str) -> None:
        with pytest.raises(UsageError, match=words):
            write_starter(place)

    refused(shared, "for others as well")
    assert not shared.exists()
    refused(tmp_path / "gone" / "tracekit.toml", "There is no folder")
    assert 'revision = "COMMIT"' in write_starter(file).read_text(), "outside of a repository"
    file.write_text("mine")
    refused(file, "is there already")
    assert file.read_text() == "mine"
    file.unlink()
    shared.write_text("[tool.tracekit.nightly]\n")
    refused(file, "has a plan")
    assert not file.exists()


@pytest.mark.processes
def test_the_starter_measures_against_the_commit_that_stands(tmp_path: Path) -> None:
    for words in ("init --quiet --initial-branch=trunk", "commit --quiet --allow-empty -m first"):
        done(tmp_path, *words.split())
    (capture,) = read_plan(write_starter(tmp_path / "tracekit.toml")).captures
    assert capture.reference is not None
    assert done(tmp_path, "rev-parse", "HEAD").startswith(capture.reference.revision)
    assert [metric.metric for metric in capture.metrics if metric.gate] == ["tokens_per_second"]


def test_what_the_starter_leaves_out_can_be_put_in(tmp_path: Path) -> None:
    """Every line of TOML in a comment is one that a plan takes."""
    given = STARTER.read_text()
    text = re.sub(r"^# (?=[a-z-]+ = )", "", given, flags=re.MULTILINE)
    assert text.count("\n#") < given.count("\n#") - 6
    file = tmp_path / "tracekit.toml"
    file.write_text(text)
    plan = read_plan(file)
    assert plan.captures[0].fail_on == ("pipeline-churn",)
    reference = plan.captures[0].reference
    assert reference is not None
    assert (reference.workload, reference.setup) == ("sdpa", ("uv", "sync"))


Refused = Callable[..., UsageError]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a = 1\r\n\r\nb", "at end of document", id="carriage-returns"),
        pytest.param("a = 1\na = 2\n", "at line 2, column 6", id="twice"),
        pytest.param(b"a = 1\nb = '\xff'\n", "0xff", id="latin"),
        pytest.param("a = " + "[" * 50_000, "", id="nested"),
        pytest.param("x = 1\n".encode("utf-16"), "utf-8", id="utf-16"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_place(
    text: str | bytes, said: str, refused: Refused
) -> None:
    message = refused(text).message
    assert message.startswith("tracekit.toml is no TOML: ")
    assert said in message


def test_a_missing_file_is_told_with_a_plan_to_paste(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no file .*gone\.toml") as refusal:
        read_plan(tmp_path / "gone.toml")
    assert "--init" in refusal.value.hint
    pasted = refusal.value.hint.partition(":\n")[2]
    (tmp_path / "pasted.toml").write_text(pasted)
    assert read_plan(tmp_path / "pasted.toml").captures[0].workload == "paged"
