"""What a recorder would launch, and whether MLX reaches Metal."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.record.doctor.checks import Fact, Verdict, checked
from tracekit.record.doctor.surroundings import Surroundings

Make = Callable[..., Surroundings]


def look(surroundings: Surroundings) -> dict[str, Fact]:
    return {
        fact.name: fact for fact in checked(surroundings, "interpreter", "python3 on PATH", "mlx")
    }


def script(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/usr/bin/env bash\nexec pyenv exec python3\n")
    path.chmod(0o755)
    return path


def test_an_interpreter_that_is_a_script_fails(mac: Make, tmp_path: Path) -> None:
    shim = script(tmp_path / "shims" / "python")
    fact = look(mac(executable=str(shim)))["interpreter"]
    assert fact.verdict is Verdict.FAILED
    assert "would trace the script" in fact.words


def test_no_interpreter_leaves_the_question_open(mac: Make) -> None:
    fact = look(mac(executable=""))["interpreter"]
    assert fact.verdict is Verdict.UNKNOWN
    assert fact.needed


def test_a_shim_on_path_is_a_warning_that_names_the_real_one(
    mac: Make, executable: Path, tmp_path: Path
) -> None:
    shim = script(tmp_path / "shims" / "python3")
    fact = look(mac(environment={"PATH": str(shim.parent)}))["python3 on PATH"]
    assert fact.verdict is Verdict.WARNING
    assert str(shim) in fact.words
    assert f"-- {executable}" in fact.fix


def test_mlx_without_metal_fails_on_a_mac(mac: Make) -> None:
    fact = look(mac({"python": '["0.32.1", false, {}]'}))["mlx metal"]
    assert fact.verdict is Verdict.FAILED
    assert "arm64" in fact.fix


def test_an_mlx_that_does_not_import_says_how_to_find_out_why(mac: Make) -> None:
    facts = look(mac({"python": None}))
    assert facts["mlx"].verdict is Verdict.WARNING
    assert "import mlx.core" in facts["mlx"].fix
    assert facts["mlx metal"].verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("said", ["hello", "[1, 2]", "{}"])
def test_an_answer_in_another_form_is_unknown(said: str, mac: Make) -> None:
    facts = look(mac({"python": said}))
    assert facts["mlx"].verdict is Verdict.UNKNOWN
    assert facts["mlx metal"].needed


@pytest.mark.processes
def test_this_very_python_answers() -> None:
    facts = look(Surroundings())
    assert facts["interpreter"].verdict is Verdict.OK
    assert facts["mlx"].verdict is Verdict.OK
