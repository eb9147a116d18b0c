import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.nightly.plan.plan import Reference
from tracekit.nightly.session.variants import CodeVariant
from tracekit.workload.interleaved.protocol import Hello

pytestmark = [pytest.mark.usefixtures("children"), pytest.mark.processes]

Ready = Callable[..., Any]
SDPA = '''
from tracekit.workload import Step, workload


@workload
def sdpa(heads: int = 2) -> Step:
    """Do nothing."""
    return Step(submit=lambda: None, wait=lambda _: None, backend="cpu")
'''


def test_each_side_says_what_it_is(
    described: Ready, interpreter: Callable[..., Path], tmp_path: Path
) -> None:
    python = interpreter(KIND="other")
    values = {"reference": Reference(python=python), "parameters": {"slow": 2.0}}
    with described(**values) as prepared:
        side, said = prepared.candidate, prepared.described["candidate"]
        reference = prepared.described["reference"]
    assert (side.python, side.cwd) == (Path(sys.executable), tmp_path / "plan")
    assert (said.workload, said.words, said.commit) == ("naps", "naps, slow 2.0", "")
    assert said.python == ".".join(str(one) for one in sys.version_info[:3])
    assert said.tracekit
    assert reference.words.startswith(f"Python {reference.python} with")


def test_a_reference_takes_the_candidate_s_parameters_that_its_work_has(
    ready: Ready, workloads: Path
) -> None:
    parameters = {"seconds": 0.002, "slow": 2.0}
    asked = Reference(parameters={"slow": 3.0})
    with ready(reference=asked, parameters=parameters) as prepared:
        assert prepared.reference.parameters == {"seconds": 0.002, "slow": 3.0}
        assert prepared.reference.difference == ("slow 3.0",)
    (workloads / "sdpa.py").write_text(SDPA)
    asked = Reference(workload="sdpa", parameters={"heads": 4})
    with ready(reference=asked, parameters=parameters) as prepared:
        assert prepared.reference.parameters == {"heads": 4}
        assert prepared.reference.difference == ("sdpa", "heads 4")


def test_another_interpreter_has_no_modules_of_this_one(
    ready: Ready, interpreter: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    python = interpreter()
    with ready(reference=Reference(python=python)) as prepared:
        assert prepared.reference.python == python
        assert "PYTHONPATH" not in prepared.reference.env


def test_an_interpreter_is_sought_beside_the_plan(
    ready: Ready, interpreter: Callable[..., Path], tmp_path: Path
) -> None:
    interpreter()
    with ready(reference=Reference(python=Path("../elsewhere/python"))) as prepared:
        assert prepared.reference.python.samefile(tmp_path / "elsewhere" / "python")
    (tmp_path / "elsewhere" / "python").chmod(0o644)
    for asked in ("gone/bin/python", "../elsewhere/python"):
        with (
            pytest.raises(UsageError, match=rf"^There is no interpreter .*/{asked}"),
            ready(reference=Reference(python=Path(asked))),
        ):
            pytest.fail("it was prepared")


@pytest.mark.parametrize(
    ("script", "reason", "hint"),
    [
        ("echo No module named tracekit >&2; exit 1", "tracekit", "-m pip install tracekit"),
        (
            'echo \'{"hello":{"protocol":99,"tracekit":"9.0"}}\'; cat',
            "has tracekit 9.0, which takes turns by protocol 99; this one does by protocol 2",
            "the same tracekit",
        ),
    ],
)
def test_what_is_no_interpreter_of_ours_is_an_error(
    script: str, reason: str, hint: str, ready: Ready, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    with ready(reference=Reference(python=python)) as prepared:
        asked = replace(prepared, candidate=prepared.reference, reference=None)
        with pytest.raises(ToolError) as caught:
            asked.describe()
    assert reason in caught.value.message
    assert hint in caught.value.hint


def side(python: str = sys.executable, *difference: str) -> CodeVariant:
    place = Path("/plan")
    return CodeVariant("reference", "naps", None, {}, Path(python), {}, place, "abc", difference)


@pytest.mark.parametrize(
    ("one", "mlx", "words"),
    [
        (side(), "0.30.0", "naps"),
        (side(sys.executable, "revision 1a2b3c4"), "0.30.0", "revision 1a2b3c4"),
        (side("/venv/python", "batch 4"), "0.30.0", "batch 4, Python 3.12.1 with MLX 0.30.0"),
        (side("/venv/python"), "", "Python 3.12.1 without MLX"),
    ],
)
def test_a_reference_is_described_by_what_differs(one: CodeVariant, mlx: str, words: str) -> None:
    described = one.described(Hello(1, "0.1.0", "3.12.1", mlx))
    assert (described.words, described.mlx, described.commit) == (words, mlx, "abc")
