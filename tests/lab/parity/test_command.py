"""The command: a table, JSON, exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
import typer

from tracekit.base.errors import InterruptedRunError
from tracekit.cli import verify as command
from tracekit.lab.parity import Case, Implementation, Parity, run_parity
from tracekit.ops.attention.problem import Problem

Run = Callable[..., Any]
on_the_cpu = pytest.mark.skipif(mx.metal.is_available(), reason="MLX has Metal here")


@on_the_cpu
def test_the_short_grid_holds(tracekit: Run) -> None:
    ran = tracekit("parity", "--quick")
    assert ran.code == 0, ran.err
    title, head, *lines, last = ran.out.splitlines()
    assert title == "# parity: 27 cases, MLX on the cpu"
    assert head.split("\t")[:3] == ["subject", "dtype", "cases"]
    assert last == ""
    table = [line.split("\t") for line in lines]
    assert [(row[0], row[1], row[2], row[-1]) for row in table] == [
        (subject, dtype, "9", "ok")
        for dtype in ("float16", "bfloat16", "float32")
        for subject in ("sdpa", "paged")
    ]
    assert "Errors are relative: largest absolute error of a sequence" in ran.err
    assert "--emulate runs them." in ran.err
    assert "Nearest to its bound: tracekit parity --case " in ran.err


def test_json_has_every_outcome(tracekit: Run, tmp_path: Path) -> None:
    case = "float16-d64-b16-q8-kv2-one"
    ran = tracekit("parity", "--case", case, "--json", "--seed", "3", "-o", tmp_path / "p.json")
    assert ran.code == 0
    plain = json.loads(ran.out)
    assert plain == json.loads((tmp_path / "p.json").read_text())
    assert (plain["kind"], plain["version"], plain["breaches"], plain["seed"]) == (
        "parity",
        1,
        0,
        3,
    )
    assert plain["bounds"] == {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
    assert {one["case"] for one in plain["outcomes"]} == {case}
    assert set(plain["outcomes"][0]) == {
        *("case", "subject", "error", "bound", "apart", "apart_bound", "failure", "breach"),
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--case float16-d64-b16", "There is no case 'float16-d64-b16'."),
        ("--subject pagd", "Did you mean paged?"),
        ("-o parity.csv", "--output writes JSON; parity.csv ends in something else."),
    ],
)
def test_a_wrong_command_line_is_a_matter_of_usage(
    tracekit: Run, arguments: str, said: str
) -> None:
    ran = tracekit("parity", *arguments.split())
    assert ran.code == 2
    assert said in ran.err


@pytest.fixture
def breached() -> Parity:
    def wrong(problem: Problem, *_: object) -> mx.array:
        return problem.q

    planted = [Implementation("planted", wrong)]
    return run_parity([Case("float16", 64, 16)], planted)


def test_a_breach_ends_in_one_and_says_how_to_repeat_it(
    breached: Parity, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as caught:
        command._end(breached)
    assert caught.value.exit_code == 1
    said = capsys.readouterr().err
    assert "warning: planted on float16-d64-b16-q8-kv2-ragged: error " in said
    assert "bound 0.002" in said
    assert "Repeat it: tracekit parity --case float16-d64-b16-q8-kv2-ragged --subject" in said


def test_an_interrupt_without_a_breach_ends_in_130() -> None:
    with pytest.raises(InterruptedRunError) as caught:
        command._end(Parity((), 0, emulated=False, backend="cpu", interrupted=True))
    assert caught.value.exit_code == 130


@on_the_cpu
def test_a_missing_compiler_is_no_breach(tracekit: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    ran = tracekit("parity", "--case", "float16-d64-b16-q8-kv2-one", "--emulate")
    assert ran.code == 3
    assert "compiler" in ran.err
    assert ran.out == ""
