"""From a file to a plan: what each key becomes, and what stands where a key does not."""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.machine.state import StateLimits
from tracekit.nightly.plan.kinds import STATE
from tracekit.nightly.plan.plan import Capture, NightPlan, Reference
from tracekit.nightly.plan.reading import read_plan

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
