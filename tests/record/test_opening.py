"""What `tracekit open` opens, and by which command line."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import RecordingError, ToolError
from tracekit.base.recording import Provenance, Recording, Stage
from tracekit.record.opening import opening, perform
from tracekit.record.xctrace.command import Completed

Make = Callable[..., Recording]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def folder(*names: str, pruned: bool = False) -> Recording:
        recording = Recording(tmp_path / "a run")
        recording.folder.mkdir()
        stages = {"prune": Stage("done", "now", "the bundle")} if pruned else {}
        recording.save_provenance(Provenance(stages=stages))
        for name in names:
            path = recording.folder / name
            path.touch() if path.suffix in {".html", ".json"} else path.mkdir()
        return recording

    return folder


def refuse_to_run(argv: tuple[str, ...], timeout: float) -> Completed:
    pytest.fail(f"{argv} was run within {timeout}")


@pytest.mark.parametrize(
    ("there", "what", "system", "opened", "opener", "warned"),
    [
        (["report.html", "recording.trace"], None, "darwin", "report.html", "open", ""),
        (["report.html", "capture.gputrace"], None, "linux", "report.html", "xdg-open", ""),
        (["capture.gputrace"], None, "darwin", "capture.gputrace", "open", ""),
        (["report.html", "recording.trace"], "trace", "linux", "report.html", "xdg-open", "Instr"),
        (["report.html", "capture.gputrace"], "gputrace", "linux", "report.html", "xdg-o", "Xcode"),
    ],
)
def test_the_page_is_opened_unless_something_else_is_named_and_can_be(
    *, there: list[str], what: Any, system: str, opened: str, opener: str, warned: str, make: Make
) -> None:
    recording = make(*there)
    got = opening(recording, what, system=system, run=refuse_to_run)
    assert got.argv[0].startswith(opener)
    assert got.argv[1:] == (str((recording.folder / opened).resolve()),)
    assert "".join(got.warnings).startswith(warned)
    assert bool(got.warnings) is bool(warned)


@pytest.mark.parametrize(
    ("what", "pruned", "hint"),
    [
        ("page", False, "`tracekit report"),
        ("trace", False, "open the page"),
        *((kind, True, "It was pruned: the bundle") for kind in ("trace", "gputrace")),
        ("gputrace", False, "capture --gputrace"),
    ],
)
def test_a_missing_page_has_a_hint(what: Any, pruned: bool, hint: str, make: Make) -> None:
    with pytest.raises(RecordingError, match="has no ") as caught:
        opening(make("result.json", pruned=pruned), what, system="darwin", run=refuse_to_run)
    assert hint in caught.value.hint


def test_a_bundle_opens_in_the_instruments_that_recorded_it_else_the_selected_else_any(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def xcode(name: str) -> tuple[str, str]:
        contents = tmp_path / name / "Contents"
        app = contents / "Applications" / "Instruments.app"
        app.mkdir(parents=True)
        return str(contents / "Developer" / "usr" / "bin" / "xctrace"), str(app)

    (beta, in_beta), (selected, in_selected) = xcode("Xcode beta.app"), xcode("Xcode.app")

    def run(argv: tuple[str, ...], _timeout: float) -> Completed:
        return Completed(argv, 0, selected if argv[0] == "xcrun" else "xctrace version 26.0 (1)")

    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    recording = make("recording.trace")
    bundle = str(recording.bundle.resolve())
    got = opening(recording, "trace", system="darwin", run=refuse_to_run)
    assert got.argv == ("open", "-a", "Instruments", bundle)
    with pytest.raises(ToolError, match="runs on macOS only") as caught:
        opening(recording, "trace", system="linux", run=refuse_to_run)
    assert "to a Mac" in caught.value.hint
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "xcrun").touch(0o755)
    for lines, app, command_run in (
        (((), (beta, "record")), in_beta, refuse_to_run),
        ((("python", "-m", "worker"), (beta, "record")), in_beta, refuse_to_run),  # attached to
        ((), in_selected, run),
        ((("/gone/Developer/xctrace", "record"),), in_selected, run),
    ):
        recording.save_provenance(Provenance(command_lines=lines))
        got = opening(recording, "trace", system="darwin", run=command_run)
        assert got.argv == ("open", "-a", app, bundle), lines


def test_a_page_is_opened_by_a_browser_and_all_else_by_its_command(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = list[str]()
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = opening(make("report.html"), system="linux", run=refuse_to_run)
    with pytest.raises(ToolError, match="No browser could be started"):
        perform(page, refuse_to_run)
    assert opened == [page.path.as_uri()]
    perform(replace(page, kind="trace"), lambda argv, _: Completed(argv, 0, ""))
    with pytest.raises(ToolError):
        perform(replace(page, kind="trace"), lambda argv, _: Completed(argv, 1, ""))
