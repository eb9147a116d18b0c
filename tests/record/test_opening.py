"""What `tracekit open` opens, and by which command line."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import RecordingError, ToolError
from tracekit.base.recording import Provenance, Recording
from tracekit.cli.main import main
from tracekit.record.opening import opening
from tracekit.record.xctrace.command import Completed

Make = Callable[..., Recording]
VERSION = "xctrace version 26.0 (17C529)"


class Xcodes:
    """A `Run` of a Mac with Xcodes, each with its version; the first is selected."""

    def __init__(self, *tools: tuple[str, str]) -> None:
        self.versions = dict(tools)
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, argv: tuple[str, ...], timeout: float) -> Completed:
        """Answer, and note what was asked."""
        assert timeout > 0
        self.asked.append(argv)
        if argv == ("xcrun", "--find", "xctrace"):
            return Completed(argv, 0, next(iter(self.versions)))
        if argv[1:] == ("version",) and argv[0] in self.versions:
            return Completed(argv, 0, self.versions[argv[0]])
        return Completed(argv, 1, "", "licence?")


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a run's folder that holds what is named."""

    def folder(*names: str, line: tuple[str, ...] = (), version: str = VERSION) -> Recording:
        recording = Recording(tmp_path / "a run")
        recording.folder.mkdir()
        lines = (line,) if line else ()
        recording.save_provenance(Provenance(command_lines=lines, recorder_version=version))
        for name in names:
            path = recording.folder / name
            if path.suffix in {".html", ".json"}:
                path.touch()
            else:
                path.mkdir()
        return recording

    return folder


@pytest.fixture
def xcode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[str, str]]:
    """Install an Xcode; return its xctrace and its Instruments."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "xcrun").touch(0o755)
    monkeypatch.setenv("PATH", str(bin_folder))

    def install(name: str) -> tuple[str, str]:
        contents = tmp_path / name / "Contents"
        app = contents / "Applications" / "Instruments.app"
        app.mkdir(parents=True)
        return str(contents / "Developer" / "usr" / "bin" / "xctrace"), str(app)

    return install


def nothing(argv: tuple[str, ...], timeout: float) -> Completed:
    pytest.fail(f"{argv} was run within {timeout}")


@pytest.mark.parametrize(("system", "opener"), [("darwin", "open"), ("linux", "xdg-open")])
def test_the_page_is_opened_unless_something_else_is_named(
    make: Make, system: str, opener: str
) -> None:
    recording = make("report.html", "recording.trace", "capture.gputrace")
    got = opening(recording, system=system, run=nothing)
    assert (got.what, got.warnings) == ("page", ())
    assert got.argv == (opener, str(recording.report_file.resolve()))


@pytest.mark.parametrize(
    ("what", "hint"),
    [("page", "`tracekit report"), ("trace", "open the page"), ("gputrace", "capture --gputrace")],
)
def test_what_is_not_there_is_said_with_the_way_to_it(make: Make, what: Any, hint: str) -> None:
    with pytest.raises(RecordingError, match="has no ") as caught:
        opening(make("result.json"), what, system="darwin", run=nothing)
    assert hint in caught.value.hint


def test_a_bundle_opens_in_the_instruments_that_recorded_it(
    make: Make, xcode: Callable[[str], tuple[str, str]]
) -> None:
    selected, _ = xcode("Xcode.app")
    other, app = xcode("Xcode beta.app")
    recording = make("recording.trace", line=(other, "record"))
    run = Xcodes((selected, "xctrace version 16.0 (17F42)"), (other, VERSION))
    got = opening(recording, "trace", system="darwin", run=run)
    assert got.argv == ("open", "-a", app, str(recording.bundle.resolve()))
    assert run.asked == []


@pytest.mark.parametrize("line", [(), ("/gone/Xcode.app/Contents/Developer/usr/bin/xctrace",)])
def test_a_bundle_from_elsewhere_opens_in_the_selected_xcode(
    make: Make, xcode: Callable[[str], tuple[str, str]], line: tuple[str, ...]
) -> None:
    tool, app = xcode("Xcode.app")
    recording = make("recording.trace", line=line, version="")
    got = opening(recording, "trace", system="darwin", run=Xcodes((tool, VERSION)))
    assert got.argv[:3] == ("open", "-a", app)
    assert got.warnings == ()


def test_a_mac_without_a_usable_xcode_leaves_the_choice_to_macos(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    recording = make("recording.trace")
    got = opening(recording, "trace", system="darwin", run=nothing)
    assert got.argv == ("open", "-a", "Instruments", str(recording.bundle.resolve()))


@pytest.mark.parametrize(
    ("what", "name", "app"),
    [("trace", "recording.trace", "Instruments"), ("gputrace", "capture.gputrace", "Xcode")],
)
def test_away_from_a_mac_the_page_is_opened_instead(
    make: Make, what: str, name: str, app: str
) -> None:
    recording = make("report.html", name)
    got = opening(recording, what, system="linux", run=nothing)  # type: ignore[arg-type]
    assert got.argv == ("xdg-open", str(recording.report_file.resolve()))
    [warning] = got.warnings
    assert warning.startswith(f"{app} opens {name}, and runs on macOS only")


def test_away_from_a_mac_and_without_a_page_nothing_can_be_opened(make: Make) -> None:
    with pytest.raises(ToolError, match="runs on macOS only") as caught:
        opening(make("recording.trace"), "trace", system="linux", run=nothing)
    assert "to a Mac" in caught.value.hint


def command(*arguments: str | Path) -> int:
    try:
        main(["open", *map(str, arguments)])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_the_command_line_is_printed_as_a_shell_takes_it(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = make("report.html")
    assert command(recording.folder, "--print") == 0
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    assert capsys.readouterr().out == f"{opener} '{recording.report_file.resolve()}'\n"
