import os
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

SDPA = '''
from tracekit.workload import Step, workload


@workload
def sdpa(heads: int = 2) -> Step:
    """Do nothing."""
    return Step(submit=lambda: None, wait=lambda _: None, backend="cpu")
'''


def test_the_candidate_is_this_interpreter_and_the_plan_s_folder(
    ready: Callable[..., Any], tmp_path: Path
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


def test_other_parameters_are_put_into_words(ready: Callable[..., Any]) -> None:
    asked = Reference(parameters={"slow": 3.0})
    with ready(reference=asked, parameters={"seconds": 0.002}) as prepared:
        side, described = prepared.reference, prepared.described["reference"]
    assert side.parameters == {"seconds": 0.002, "slow": 3.0}
    assert described.words == "slow 3.0"


def test_other_work_takes_the_parameters_that_it_has(
    ready: Callable[..., Any], workloads: Path
) -> None:
    (workloads / "sdpa.py").write_text(SDPA)
    asked = Reference(workload="sdpa", parameters={"heads": 4})
    with ready(reference=asked, parameters={"seconds": 0.002}) as prepared:
        assert prepared.reference.parameters == {"heads": 4}
        assert prepared.described["reference"].words == "sdpa, heads 4"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (Reference(workload="nap"), "There is no workload 'nap'."),
        (Reference(parameters={"fast": 1}), "The workload naps has no parameter 'fast'."),
        (Reference(parameters={"slow": "very"}), "--slow cannot be 'very'"),
    ],
)
def test_work_that_this_interpreter_cannot_do_is_refused(
    ready: Callable[..., Any], asked: Reference, told: str
) -> None:
    with pytest.raises(UsageError) as caught, ready(reference=asked):
        pytest.fail("it was prepared")
    assert caught.value.message.startswith(told)


def test_another_interpreter_does_the_same_work(
    ready: Callable[..., Any],
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
    ready: Callable[..., Any], interpreter: Callable[..., Path], tmp_path: Path
) -> None:
    interpreter()
    with ready(reference=Reference(python=Path("../elsewhere/python"))) as prepared:
        assert prepared.reference.python.samefile(tmp_path / "elsewhere" / "python")


def test_an_interpreter_that_is_not_there_is_refused(ready: Callable[..., Any]) -> None:
    asked = Reference(python=Path("gone/bin/python"))
    with (
        pytest.raises(UsageError, match=r"^There is no interpreter .*/gone/bin/python"),
        ready(reference=asked),
    ):
        pytest.fail("it was prepared")


@pytest.mark.parametrize("package", ["tracekit/__init__.py", "nothing/__init__.py"])
def test_an_interpreter_without_turns_is_named_and_helped(
    ready: Callable[..., Any], interpreter: Callable[..., Path], tmp_path: Path, package: str
) -> None:
    other = tmp_path / "site" / package
    other.parent.mkdir(parents=True)
    other.touch()
    python = interpreter(PYTHONPATH=str(tmp_path / "site"))
    lines = python.read_text().replace(' "$@"', ' -S "$@"')
    python.write_text(lines)
    with pytest.raises(ToolError) as caught, ready(reference=Reference(python=python)):
        pytest.fail("it was prepared")
    assert f"The interpreter {python} of the reference of short has no tracekit that can take" in (
        caught.value.message
    )
    assert "-m pip install tracekit" in caught.value.hint


def test_another_protocol_is_named(ready: Callable[..., Any], tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho \'{"hello":{"protocol":99,"tracekit":"9.0"}}\'\ncat\n')
    python.chmod(0o755)
    with pytest.raises(ToolError) as caught, ready(reference=Reference(python=python)):
        pytest.fail("it was prepared")
    assert "has tracekit 9.0, which takes turns by protocol 99; this one does by protocol 2" in (
        caught.value.message
    )


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo it is broken >&2; exit 9", "with exit code 9. Its last words: it is broken"),
        ("echo hello", "said what is no answer"),
        ("echo '{\"finished\":{}}'", "answered something else than it was asked"),
    ],
)
def test_what_is_no_interpreter_is_told(
    ready: Callable[..., Any], tmp_path: Path, script: str, told: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    with pytest.raises(ToolError) as caught, ready(reference=Reference(python=python)):
        pytest.fail("it was prepared")
    assert told in caught.value.message


def side(python: str = sys.executable, *difference: str) -> CodeVariant:
    place = Path("/plan")
    return CodeVariant("reference", "naps", None, {}, Path(python), {}, place, "abc", difference)


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (side(), "naps"),
        (side(sys.executable, "revision 1a2b3c4"), "revision 1a2b3c4"),
        (side("/venv/python", "batch 4"), "batch 4, Python 3.12.1 with MLX 0.30.0"),
    ],
)
def test_a_reference_is_described_by_what_differs(one: CodeVariant, words: str) -> None:
    described = one.described(Hello(1, "0.1.0", "3.12.1", "0.30.0"))
    assert described.words == words
    assert (described.mlx, described.commit) == ("0.30.0", "abc")


def test_an_interpreter_without_mlx_says_so() -> None:
    described = side("/venv/python").described(Hello(1, "0.1.0", "3.12.1"))
    assert described.words == "Python 3.12.1 without MLX"
    assert described.mlx == ""


def test_what_distorts_metal_is_kept_from_both_sides(
    ready: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MTL_HUD_ENABLED", "1")
    with ready() as prepared:
        assert all("MTL_HUD_ENABLED" not in one.env for one in prepared.variants)
        assert all(one.env["PATH"] == os.environ["PATH"] for one in prepared.variants)
