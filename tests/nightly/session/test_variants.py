import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.nightly.plan.plan import Reference
from tracekit.nightly.session.measuring import measure
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


def test_the_candidate_is_this_interpreter_and_the_plan_s_folder(
    ready: Ready, tmp_path: Path
) -> None:
    with ready(reference=None, parameters={"slow": 2.0}) as prepared:
        side, described = prepared.candidate, prepared.described["candidate"]
    assert side.python == Path(sys.executable)
    assert side.cwd == tmp_path / "plan"
    assert described.workload == "naps"
    assert described.words == "naps, slow 2.0"
    assert described.python == ".".join(str(one) for one in sys.version_info[:3])
    assert described.tracekit
    assert described.commit == ""


def test_a_reference_takes_the_candidate_s_parameters_that_its_work_has(
    ready: Ready, workloads: Path
) -> None:
    parameters = {"seconds": 0.002, "slow": 2.0}
    asked = Reference(parameters={"slow": 3.0})
    with ready(reference=asked, parameters=parameters) as prepared:
        assert prepared.reference.parameters == {"seconds": 0.002, "slow": 3.0}
        assert prepared.described["reference"].words == "slow 3.0"
    (workloads / "sdpa.py").write_text(SDPA)
    asked = Reference(workload="sdpa", parameters={"heads": 4})
    with ready(reference=asked, parameters=parameters) as prepared:
        assert prepared.reference.parameters == {"heads": 4}
        assert prepared.described["reference"].words == "sdpa, heads 4"


def test_another_interpreter_does_the_same_work(
    ready: Ready,
    interpreter: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    python = interpreter(KIND="other")
    with ready(reference=Reference(python=python), pairs=1) as prepared:
        side, described = prepared.reference, prepared.described["reference"]
        (pair,) = measure(prepared)
    assert side.python == python
    assert "PYTHONPATH" not in side.env
    assert described.words.startswith(f"Python {described.python} with")
    assert pair.reference["step_p50"]


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


@pytest.mark.parametrize("package", ["tracekit/__init__.py", "nothing/__init__.py"])
def test_an_interpreter_without_turns_is_named_and_helped(
    ready: Ready, interpreter: Callable[..., Path], tmp_path: Path, package: str
) -> None:
    other = tmp_path / "site" / package
    other.parent.mkdir(parents=True)
    other.touch()
    python = interpreter(PYTHONPATH=str(tmp_path / "site"))
    lines = python.read_text().replace(' "$@"', ' -S "$@"')
    python.write_text(lines)
    with pytest.raises(ToolError) as caught, ready(reference=Reference(python=python)):
        pytest.fail("it was prepared")
    assert "The reference of short ended in the middle of its work" in caught.value.message
    assert "No module named" in caught.value.message
    assert "-m pip install tracekit" in caught.value.hint


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo it is broken >&2; exit 9", "with exit code 9. Its last words: it is broken"),
        ("echo hello", "said what is no answer"),
        ("echo '{\"finished\":{}}'", "answered something else than it was asked"),
        (
            'echo \'{"hello":{"protocol":99,"tracekit":"9.0"}}\'; cat',
            "has tracekit 9.0, which takes turns by protocol 99; this one does by protocol 2",
        ),
    ],
)
def test_what_is_no_interpreter_of_ours_is_an_error(
    ready: Ready, tmp_path: Path, script: str, reason: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    with pytest.raises(ToolError) as caught, ready(reference=Reference(python=python)):
        pytest.fail("it was prepared")
    assert reason in caught.value.message


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
