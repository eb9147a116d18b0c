"""From a file to a plan: found, read, digested; what each key becomes, and what decides."""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.analysis.metrics import METRICS
from tracekit.base.errors import UsageError
from tracekit.base.git import done
from tracekit.machine.state import StateLimits
from tracekit.nightly.plan.document import STARTER, Route, open_document, write_starter
from tracekit.nightly.plan.kinds import STATE
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference
from tracekit.nightly.plan.reading import FOLLOWED, UNTRACED, history_of, read_plan, usual

Plan = Callable[[str], NightPlan]
SMALLEST = '[nightly]\n[[nightly.capture]]\nworkload = "paged"\n'
WHOLE = """
[nightly]
name = "paged"
output = "nights"
history = "sqlite:///kept/history.db"
budget = "90m"
machine = "mini-1"
retries = 3

[nightly.machine-state]
calibration = 0.2
clock = false
memory-free = "2GiB"
thermal-pressure = "Light"
battery = 0.5
low-power = true

[nightly.defaults]
pairs = 8
turn = "100ms"
parameters = { batch = 16, head_dim = 64 }
metrics.step_p99 = { threshold = 0.1, gate = false }

[[nightly.capture]]
name = "decode"
workload = "paged"
parameters = { batch = 8, dtype = "float32" }
template = ["Metal System Trace", "Allocations"]
time-limit = 3
traced = 2
together = false
warmup = 3
recorder = "host"
counters = "off"
telemetry = "off"
parity = "off"
checks = [["python", "-m", "pytest"], "make 'all of it'"]
fail-on = "pipeline-churn"
[nightly.capture.reference]
revision = "v1.2"
setup = "uv sync"
python = ".venv/bin/python"
pythonpath = ["src", "."]
[nightly.capture.metrics]
tokens_per_second = 0.05

[[nightly.capture]]
name = "prefill"
workload = "sdpa"
pairs = 12
template = "Allocations"
reference = { workload = "paged", parameters = { batch = 16 } }
"""


def test_every_key_becomes_what_it_says(plan_of: Plan, plan_file: Path) -> None:
    plan = plan_of(WHOLE)
    folder = plan_file.parent
    assert (plan.name, plan.machine, plan.retries, plan.budget) == ("paged", "mini-1", 3, 5400.0)
    assert plan.file == plan_file
    assert plan.output == folder / "nights"
    assert plan.history == f"sqlite:///{folder}/kept/history.db"
    assert plan.state == StateLimits(
        calibration=0.2,
        clock=None,
        memory_free=2 << 30,
        thermal_pressure=1,
        battery=0.5,
        low_power=True,
    )
    decode = dataclasses.replace(plan.captures[0], metrics=())
    assert decode == Capture(
        name="decode",
        workload="paged",
        parameters={"batch": 8, "head_dim": 64, "dtype": "float32"},
        reference=Reference(
            revision="v1.2",
            setup=("uv", "sync"),
            python=Path(".venv/bin/python"),
            pythonpath=("src", "."),
        ),
        pairs=8,
        turn=0.1,
        together=False,
        warmup=3,
        traced=2,
        recorder="host",
        templates=("Metal System Trace", "Allocations"),
        counters="off",
        telemetry="off",
        time_limit=3.0,
        parity="off",
        checks=(("python", "-m", "pytest"), ("make", "all of it")),
        fail_on=("pipeline-churn",),
    )


def test_what_holds_for_all_gives_way_to_what_a_capture_says(plan_of: Plan) -> None:
    decode, prefill = plan_of(WHOLE).captures
    assert (decode.pairs, prefill.pairs) == (8, 12)
    assert (decode.turn, prefill.turn) == (0.1, 0.1)
    assert prefill.parameters == {"batch": 16, "head_dim": 64}
    assert prefill.templates == ("Allocations",)
    for capture in (decode, prefill):
        (late,) = [one for one in capture.metrics if one.metric == "step_p99"]
        assert (late.threshold, late.gate) == (0.1, False)
    assert prefill.reference is not None
    assert not prefill.reference.same_work


def test_what_a_plan_does_not_say_is_usual(plan_of: Plan, plan_file: Path) -> None:
    plan = plan_of(SMALLEST)
    folder = plan_file.parent
    assert plan.name == "paged-nights"
    assert plan.output == folder / "bench" / "nights"
    assert plan.history == f"sqlite:///{folder}/bench/nights/history.db"
    (capture,) = plan.captures
    assert dataclasses.replace(capture, metrics=()) == Capture("paged", "paged")
    assert (plan.budget, plan.retries, plan.state) == (7200.0, 5, StateLimits())


def test_paths_are_relative_to_the_plan(plan_of: Plan, plan_file: Path) -> None:
    own = plan_file.parent / "work"
    own.mkdir()
    (own / "mine.py").write_text(
        "from tracekit.workload import Step, workload\n"
        "@workload\n"
        "def mine(*, size: int = 1) -> Step:\n"
        "    'Do nothing.'\n"
        "    return Step(submit=lambda: None, wait=lambda _: None)\n"
    )
    (capture,) = plan_of(
        '[nightly]\n[[nightly.capture]]\nworkload = "mine"\nworkloads = "work"\n'
        'parameters.size = 3\nreference.python = "old/bin/python"\n'
    ).captures
    assert capture.workloads == own
    assert capture.reference is not None
    assert capture.reference.python == plan_file.parent / "old/bin/python"
    assert capture.reference.same_work


def test_a_capture_may_do_without_the_reference_of_all(plan_of: Plan) -> None:
    text = SMALLEST.replace("[nightly]", '[nightly]\ndefaults.reference.revision = "main"')
    for more, reference in (("", Reference(revision="main")), ("reference = false\n", None)):
        (capture,) = plan_of(text + more).captures
        assert capture.reference == reference


def test_workloads_are_left_alone_where_only_the_plan_is_asked_for(plan_file: Path) -> None:
    plan_file.write_text(SMALLEST.replace("paged", "gone"))
    assert read_plan(plan_file, work=False).captures[0].workload == "gone"


def test_every_limit_of_the_machines_state_has_a_key() -> None:
    assert set(STATE) == {one.name for one in dataclasses.fields(StateLimits)}


SHARED = "[project]\nname = 'x'\n" + re.sub(r"(\[+)nightly", r"\1tool.tracekit.nightly", WHOLE)


def test_a_plan_is_the_same_in_a_shared_file(plan_of: Plan, plan_file: Path) -> None:
    shared = plan_file.with_name("pyproject.toml")
    shared.write_text(f"{SHARED}[tool.other]\na = 1\n")
    assert plan_of(WHOLE) == dataclasses.replace(read_plan(shared), file=plan_file)


@pytest.mark.parametrize(("name", "text"), [("tracekit", SMALLEST), ("pyproject", SHARED)])
def test_the_nearest_plan_is_found_from_below(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{name}.toml").write_text(text)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (below / "pyproject.toml").write_bytes(b"[project\n\xff")  # broken, and without a plan
    monkeypatch.chdir(below)
    assert read_plan().file == tmp_path / f"{name}.toml"
    (below / "tracekit.toml").write_text(SMALLEST)
    (below / "pyproject.toml").write_text("[tool.tracekit.nightly]\n")
    assert read_plan().file == below / "tracekit.toml"


def test_a_file_by_any_name_is_a_plan(tmp_path: Path) -> None:
    file = tmp_path / "große Nacht.toml"
    file.write_text("\ufeff" + SMALLEST, encoding="utf-8", newline="\r\n")
    assert read_plan(file).captures[0].workload == "paged"


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


def test_every_metric_that_is_followed_by_itself_is_one() -> None:
    assert set(FOLLOWED) <= set(METRICS)
    assert set(METRICS) >= UNTRACED
    assert len(FOLLOWED) == len(set(FOLLOWED))


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
    assert [one.metric for one in capture.metrics if one.gate] == expected
    names = [one.metric for one in capture.metrics]
    assert names[: len(expected)] == expected
    assert sorted(names) == sorted(FOLLOWED)


def test_true_is_the_usual_threshold_and_false_drops_a_metric(plan_of: Plan) -> None:
    (capture,) = plan_of(REFERENCE + "metrics = { step_p99 = true, memory_peak = false }").captures
    assert capture.metrics[0] == Gated("step_p99", 0.03, "ratio")
    assert "memory_peak" not in [one.metric for one in capture.metrics]


def test_where_nothing_is_traced_only_turns_are_followed(plan_of: Plan) -> None:
    (capture,) = plan_of(REFERENCE + "traced = 0").captures
    assert {one.metric for one in capture.metrics} == {"step_p50", "step_p99", "tokens_per_second"}


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


def test_a_workloads_own_result_may_decide(plan_of: Plan) -> None:
    plan = plan_of(REFERENCE + 'metrics.cache_hits = { threshold = 0.1, better = "higher" }')
    assert plan.captures[0].metrics[0] == Gated("cache_hits", 0.1, "ratio", "higher")


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
    "change",
    [
        "batch = 8>batch = 16",
        'name = "decode">name = "prefill"',
        '"old/python">"new/python"',
        'workloads = "own">workloads = "others"',
        'workloads = "own">pairs = 12',
        'workloads = "own">turn = "1s"',
        "[nightly]>[nightly]\nmachine-state.load = 0.1",
        "[nightly]>[nightly]\nretries = 1",
    ],
)
def test_what_is_measured_changes_the_digest(change: str, plan_of: Plan) -> None:
    before, _, after = change.partition(">")
    assert before in PLAN
    assert plan_of(PLAN.replace(before, after)).digest != plan_of(PLAN).digest


@pytest.mark.parametrize(
    "change",
    [
        "batch = 8, seed = 1>seed = 1, batch = 8",
        "[nightly]>[nightly]\nname = 'x'\nbudget = '1h'\nmachine = 'y'\noutput = 'z'",
        "[nightly]>[nightly] # said again\ndefaults.pairs = 10",
        'workloads = "own">workloads = "own"\nmetrics.step_p50 = 0.1\nfail-on = "bubbles"',
        'workloads = "own">workloads = "own"\nparity = "full"\nchecks = ["true"]',
    ],
)
def test_names_places_and_judgements_do_not(change: str, plan_of: Plan) -> None:
    before, _, after = change.partition(">")
    assert before in PLAN
    assert plan_of(PLAN.replace(before, after)).digest == plan_of(PLAN).digest


def test_a_checkout_elsewhere_has_the_same_digest(tmp_path: Path) -> None:
    digests: set[str] = set()
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tracekit.toml").write_text(PLAN)
        digests.add(read_plan(tmp_path / name / "tracekit.toml").digest)
    assert len(digests) == 1


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


@pytest.mark.parametrize("url", ["sqlite:///:memory:", " "])
def test_what_keeps_nothing_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        history_of(url, FOLDER)


CASES: dict[str, tuple[str, dict[Route, int]]] = {
    "plain": ("a = 1\nb = 2\n", {("a",): 1, ("b",): 2}),
    "indented, behind a comment": ("# a = 0\n\n  a = 1", {("a",): 3}),
    "table": ("# c\n[x] # d\na = 1", {("x",): 2, ("x", "a"): 3}),
    "dotted": ("x . y.z = 1\nx.y.u = 2", {("x", "y"): 1, ("x", "y", "z"): 1, ("x", "y", "u"): 2}),
    "quoted": ("'a b'.\"c\" = 1", {("a b", "c"): 1}),
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


@pytest.mark.processes
def test_the_starter_measures_against_the_commit_that_stands(tmp_path: Path) -> None:
    for words in ("init --quiet --initial-branch=trunk", "commit --quiet --allow-empty -m first"):
        done(tmp_path, *words.split())
    (capture,) = read_plan(write_starter(tmp_path / "tracekit.toml")).captures
    assert capture.reference is not None
    assert done(tmp_path, "rev-parse", "HEAD").startswith(capture.reference.revision)
    assert [metric.metric for metric in capture.metrics if metric.gate] == ["tokens_per_second"]


def test_outside_of_a_repository_the_commit_is_to_be_filled_in(tmp_path: Path) -> None:
    assert 'revision = "COMMIT"' in write_starter(tmp_path / "tracekit.toml").read_text()


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


def test_a_plan_that_is_there_stays(tmp_path: Path) -> None:
    file = tmp_path / "tracekit.toml"
    file.write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        write_starter(file)
    assert file.read_text() == "mine"


def test_a_shared_file_is_never_written_to(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="for others as well"):
        write_starter(tmp_path / "pyproject.toml")
    assert not (tmp_path / "pyproject.toml").exists()
    (tmp_path / "pyproject.toml").write_text("[tool.tracekit.nightly]\n")
    with pytest.raises(UsageError, match="has a plan"):
        write_starter(tmp_path / "tracekit.toml")
    assert not (tmp_path / "tracekit.toml").exists()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no folder"):
        write_starter(tmp_path / "gone" / "tracekit.toml")


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


def test_without_a_plan_anywhere_both_names_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"no tracekit\.toml in .* or above, and no pyproject"):
        read_plan()
