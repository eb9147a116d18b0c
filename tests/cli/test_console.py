"""What a terminal shows of tables and results stays readable."""

from pathlib import Path

import pytest

from tracekit.analysis.result import Better, Check, Measurement, Result, Status
from tracekit.base.errors import InconclusiveError
from tracekit.base.recording import Provenance, Recording
from tracekit.cli.console import (
    bisect_code,
    require_rows,
    require_target_rows,
    show,
    styled,
)


def test_what_a_workload_could_not_measure_is_not_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    metrics = (
        Measurement("step_rate", 45.0, "steps/s", Better.HIGHER),
        Measurement("goodput", None, "requests/s", Better.HIGHER, "no limit was given."),
    )
    results = (
        Measurement("speedup", None, "x", Better.HIGHER, "there was no pair of steps"),
        Measurement("pairs", 0, "count", Better.NEITHER),
    )
    show(Result(Provenance(), metrics=metrics, results=results), Recording(tmp_path))
    numbers = capsys.readouterr().out.partition("\n\n")[0]
    lines = [line.split(maxsplit=1) for line in numbers.splitlines()]
    assert lines == [
        ["step_rate", "45 steps/s"],
        ["speedup", "not available, because there was no pair of steps"],
        ["pairs", "0"],
    ]


def test_idle_time_is_that_of_the_window_that_findings_speak_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    whole = Measurement("gpu_idle_ratio", 0.3, "ratio", Better.LOWER)
    steady = Measurement("idle_ratio", 0.1, "ratio", Better.LOWER)
    show(Result(Provenance(), metrics=(whole, steady)), Recording(tmp_path))
    assert "gpu_idle_ratio" not in capsys.readouterr().out
    show(Result(Provenance(), metrics=(whole,)), Recording(tmp_path))
    assert "gpu_idle_ratio" in capsys.readouterr().out


@pytest.mark.parametrize("status", [Status.ABSTAINED, Status.FAILED])
def test_only_of_a_recording_of_xctrace_must_it_be_known_that_it_holds_the_targets_work(
    status: Status,
) -> None:
    checks = (Check("capture-empty", status, "no table could be read."),)
    require_rows(Result(Provenance(recorder="import"), checks=checks))
    with pytest.raises(InconclusiveError, match="no table could be read"):
        require_rows(Result(Provenance(recorder="xctrace"), checks=checks))


@pytest.mark.parametrize(("known", "raised"), [(True, False), (None, False), (False, True)])
def test_a_recording_that_is_known_to_lack_its_targets_work_is_inconclusive(
    tmp_path: Path, *, known: bool | None, raised: bool
) -> None:
    recording = Recording(tmp_path)
    recording.save_provenance(Provenance(target_rows=known))
    if not raised:
        require_target_rows(recording)
        return
    with pytest.raises(InconclusiveError, match="No GPU work of the target"):
        require_target_rows(recording)


@pytest.mark.parametrize(
    ("code", "told"),
    [(0, 0), (1, 1), (2, 130), (3, 125), (4, 125), (70, 198), (125, 125), (127, 255), (128, 128)],
)
def test_git_bisect_is_told_what_it_takes_codes_for(code: int, told: int) -> None:
    assert bisect_code(code) == told


def test_what_words_quote_has_no_style() -> None:
    words = styled(("a\x1b[31mb", "bold"), "[red]c:smile:\u202e")
    assert words.plain == r"a\u001b[31mb[red]c:smile:\u202e"
    assert [(span.start, span.end, span.style) for span in words.spans] == [(0, 12, "bold")]
