"""The command lines of recordings, word for word: template, instrument, program."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recording_fakes import archive, xcode
from tracekit.base.choices import RecordingChoices
from tracekit.base.errors import TracekitError, UsageError
from tracekit.base.recording import Recording
from tracekit.record.recorder import Attach, ProgramLaunch, RecordingRequest
from tracekit.record.xctrace.command import distorts, own_environment, target_environment
from tracekit.record.xctrace.command_line import (
    TemplateSelection,
    absolute,
    record_line,
    select,
    time_limit,
)

MST = "Metal System Trace"
ENVIRONMENT = {"HOME": "/Users/a", "PATH": "/usr/bin:/bin", "SECRET": "x", "MTL_HUD_ENABLED": "1"}

PROGRAM = ProgramLaunch(("/bin/sh", "-c", "true"), {"KEY": "a b", "MTL_DEBUG_LAYER": "1"})
TO_THE_PROGRAM = (
    "--target-stdout", "/r/target-output.txt", "--env", "HOME=/Users/a", "--env", "KEY=a b",
    "--env", "PATH=/usr/bin:/bin", "--launch", "--", "/bin/sh", "-c", "true",
)  # fmt: skip


def test_the_whole_line() -> None:
    cases: tuple[
        tuple[ProgramLaunch | Attach, TemplateSelection, tuple[str, ...], tuple[str, ...]], ...
    ] = (
        (PROGRAM, TemplateSelection("/t/My.x"), ("--template", "/t/My.x"), TO_THE_PROGRAM),
        (
            Attach(27364), TemplateSelection(MST, instruments=("Metal GPU Counters",)),
            ("--template", MST, "--instrument", "Metal GPU Counters"), ("--attach", "27364"),
        ),
    )  # fmt: skip
    common_options = ("--time-limit", "5s", "--output", "/r/recording.trace", "--no-prompt")
    for target, selection, words, later_words in cases:
        request_parts, run = (RecordingRequest(target, 5), target, selection), Recording(Path("/r"))
        line = record_line(xcode(), *request_parts, run, environment=ENVIRONMENT)
        assert line == ("/X/xctrace", "record", *words, *common_options, *later_words), target
        line = record_line(xcode(help="--template"), *request_parts, run, environment=ENVIRONMENT)
        assert "--no-prompt" not in line, target


def test_time_limits_are_whole_numbers() -> None:
    cases = {10: "10s", 0.5: "500ms", 2.5: "2500ms", 1.001: "1001ms", 1.0004: "1s", 0.001: "1ms"}
    assert {seconds: time_limit(seconds) for seconds in cases} == cases
    for duration in (0, -1, 0.0001):
        with pytest.raises(UsageError, match="too short to record"):
            time_limit(duration)


def test_programs_are_found_links_are_kept_and_failures_reported(
    tmp_path: Path,
) -> None:
    assert absolute(("sh", "-c", "x"), {"PATH": "/bin"}) == ("/bin/sh", "-c", "x")
    link = tmp_path / "python"  # as in a virtual environment
    link.symlink_to("/bin/sh")
    assert absolute((str(link),), os.environ) == (str(link),)
    for argv, message in (
        ((), "There is no command to record"),
        (("no-such-program",), "no-such-program cannot be started: no folder of PATH has"),
        (("/Applications/A.app/",), "it is an app bundle, not a program"),
    ):
        with pytest.raises(UsageError, match=message):
            absolute(argv, {"PATH": "/bin"})


OURS = {
    "HOME": "/Users/a", "PATH": "/bin", "TMPDIR": "", "MLX_METAL_JIT": "1", "PYTHONPATH": "/lib",
    "AWS_SECRET": "no", "MTL_DEBUG_LAYER": "1", "LANG": "fr_FR",
}  # fmt: skip


def test_programs_get_their_needs_and_nothing_that_distorts_metal() -> None:
    given_variables = {"KEY": "a=b", "EMPTY": "", "MTL_HUD_ENABLED": "1", "PATH": "/own"}
    assert target_environment(given_variables, OURS) == {
        "HOME": "/Users/a", "KEY": "a=b", "MLX_METAL_JIT": "1", "PATH": "/own",
        "PYTHONPATH": "/lib",
    }  # fmt: skip
    kept_variables = {name: value for name, value in OURS.items() if name != "MTL_DEBUG_LAYER"}
    assert own_environment({"LANG": "de", "MTL_X": "1"}, OURS) == kept_variables | {"LANG": "de"}
    variable_names = ("MTL_X", "MTLCAPTURE_X", "METAL_DEVICE_WRAPPER_TYPE", "METAL_PATH", "PATH")
    assert [distorts(name) for name in variable_names] == [True, True, True, False, False]


Chosen = Callable[..., TemplateSelection]


@pytest.fixture
def chosen(tmp_path: Path) -> Chosen:
    """Select for a request; a number is a template file with that counter profile."""

    def choose(*templates: Any, counters: str = "off", **xcode_answers: str) -> TemplateSelection:
        names = [
            str(write_template(name)) if not isinstance(name, str) else name for name in templates
        ]
        request = RecordingRequest(
            Attach(1), 5, RecordingChoices(templates=tuple(names), counters=counters)
        )
        return select(request, xcode(**xcode_answers))

    def write_template(profile: int) -> Path:
        path = tmp_path / "t.tracetemplate"
        path.write_bytes(archive({"counterprofile": profile}))
        return path

    return choose


def test_a_wish_for_counters_becomes_the_instrument_unless_the_template_has_a_set(
    chosen: Chosen,
) -> None:
    for expected, counters, *templates in (
        ((True, False, False), "auto", "GPU Counters"),
        ((True, False, False), "auto", MST, "gpu counters"),
        ((True, False, False), "on", MST, "Metal GPU Counters"),
        ((False, False, True), "auto"),
        ((False, False, False), "off", MST),
        ((False, True, False), "auto", 13),
        ((False, True, False), "on", 13),
        ((False, False, True), "auto", 0),
        ((True, False, False), "on", 0),
        ((False, None, False), "auto", "Time Profiler"),
        ((True, None, False), "on", "Time Profiler"),
    ):
        got = chosen(*templates, counters=counters)
        selection_facts = (got.adds_counters, got.own_counters, bool(got.warnings))
        assert selection_facts == expected, (counters, templates)
        assert got.counters is (True in expected[:2])
        is_file = got.template.endswith("t.tracetemplate")
        assert is_file or got.template in {MST, "Time Profiler"}, (counters, templates)


def test_unrecordable_targets_are_refused_with_a_hint(chosen: Chosen) -> None:
    without = {"counters": "on", "instruments": "== A ==\nMetal GPU Counter\n"}
    old = {"counters": "on", "help": "--template"}
    suggestion = "Did you mean Metal System Trace? A template file is given by its path."
    for templates, options, error_words, hint in (
        ([MST, "GPU Counters"], {}, "both asked for and switched off", ""),
        ([13], {}, "both asked for and switched off", ""),
        ([MST, "Time Profiler"], {}, "one template, and 2 were given", "by its path."),
        ([MST.lower()], {}, "no template in this Xcode 'metal system trace'", suggestion),
        (["/none.tracetemplate"], {}, "There is no template file", ""),
        ([MST], without, "no instrument in this Xcode 'Metal GPU Counters'", "GPU Counter?"),
        ([MST], old, "cannot add instruments", "Xcode 14"),
    ):
        with pytest.raises(TracekitError, match=error_words) as caught:
            chosen(*templates, **options)
        assert hint in caught.value.hint, (templates, error_words)


def test_a_list_that_cannot_be_read_forbids_nothing_and_files_become_absolute(
    chosen: Chosen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chosen("Anything", templates="something else").template == "Anything"
    (warning,) = chosen(MST, counters="on", instruments="GPU, Hangs").warnings
    assert "so it was not checked whether it has Metal GPU Counters." in warning
    (tmp_path / "mine.tracetemplate").write_text("<plist/>")  # not understood
    monkeypatch.chdir(tmp_path)
    got = chosen("mine.tracetemplate", counters="auto")
    assert got == TemplateSelection(str(tmp_path / "mine.tracetemplate"), own_counters=None)
