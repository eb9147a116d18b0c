"""Reports on the disk, whole or not at all, and a command that hears of a regression."""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from devices import device
from gate_night import NIGHT
from tracekit.base.errors import RecordingError, UsageError
from tracekit.nightly.gate.notify import (
    WRITERS,
    append_summary,
    command_of,
    facts,
    tell,
    write_reports,
)
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.gate.report.text import markdown

REPORT = of_night(NIGHT)
PYTHON = (sys.executable, "-c")


def test_each_report_is_written_to_its_file(tmp_path: Path) -> None:
    files = {name: tmp_path / "new" / name for name in WRITERS}
    assert write_reports(REPORT, files) == []
    begins = [file.read_text()[:9] for file in files.values()]
    assert begins == ["<?xml ver", '{\n  "$sch', "# HELP tr", "## 💥 Fail"]


def test_a_scraper_never_sees_half_a_file(tmp_path: Path) -> None:
    """The new text takes the old one's place: who reads the old one reads all of it."""
    file = tmp_path / "gate.prom"
    write_reports(REPORT, {"openmetrics": file})
    with file.open("rb") as reader:
        first = reader.read(10)
        write_reports(replace(REPORT, plan="other"), {"openmetrics": file})
        assert (first + reader.read()).endswith(b"# EOF\n")
    assert 'plan="other"' in file.read_text()
    assert list(tmp_path.iterdir()) == [file]


def test_a_report_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    files = {"junit": tmp_path / "file" / "gate.xml", "markdown": tmp_path / "gate.md"}
    (error,) = write_reports(REPORT, files)
    assert isinstance(error, RecordingError)
    assert (tmp_path / "gate.md").exists()


def test_links_stay_and_a_device_is_written_to(tmp_path: Path) -> None:
    null = device(tmp_path, "null")
    (tmp_path / "link").symlink_to(null)
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    files = {"junit": tmp_path / "link", "markdown": tmp_path / "link.md"}
    assert write_reports(REPORT, files) == []
    assert all(file.is_symlink() for file in files.values())
    assert null.is_char_device()
    assert (tmp_path / "real.md").read_text() == markdown(REPORT)


def test_a_summary_is_added_to_what_others_wrote(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    assert append_summary(REPORT, file) == ""
    assert file.read_text() == "before\n" + markdown(REPORT)
    assert "could not be written" in append_summary(REPORT, tmp_path / "no" / "summary.md")


def test_a_command_is_parted_as_a_shell_would() -> None:
    assert command_of("mail -s 'it is slow' $HOME") == ("mail", "-s", "it is slow", "$HOME")
    for text, said in (("mail 'x", "No closing quotation"), (" ", "no command")):
        with pytest.raises(UsageError, match=said):
            command_of(text)


def test_facts_are_lines_whatever_they_hold() -> None:
    found = facts(replace(REPORT, reason="a\nb\0c", title="\ud800"))
    assert found["TRACEKIT_REASON"] == r"a b\u0000c"
    assert found["TRACEKIT_TITLE"].encode()


def test_a_command_gets_the_report_and_the_facts(tmp_path: Path) -> None:
    out = tmp_path / "heard.json"
    program = (
        "import json, os, sys\n"
        "heard = {'report': json.load(sys.stdin), 'env': dict(os.environ)}\n"
        f"open({str(out)!r}, 'w').write(json.dumps(heard)); raise SystemExit(7)"
    )
    long = replace(REPORT, warnings=("x" * 100_000,))
    assert tell((*PYTHON, program), long).endswith("ended with 7.")
    heard = json.loads(out.read_text())
    assert heard["report"]["subject"] == NIGHT.id
    assert heard["report"]["suites"][0]["cases"][0]["change"] == 0.098
    assert heard["env"]["TRACEKIT_OUTCOME"] == "failed"
    assert heard["env"]["TRACEKIT_WORSE"] == "decode: step_p50"
    assert heard["env"]["TRACEKIT_COMMIT"] == "5d6e7f8"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("/nowhere/mail",), "could not be run: No such file"),
        (("/",), "could not be run: Permission denied"),
        (("a\0b",), "could not be run"),
        (("/bin/sh", "-c", "kill -9 $$"), "ended with -9"),
        (("/bin/sh", "-c", "exec <&-"), ""),  # one that reads nothing does no harm
    ],
)
def test_what_goes_wrong_is_said(command: tuple[str, ...], said: str) -> None:
    assert said in tell(command, replace(REPORT, warnings=("x" * 1_000_000,)))


@pytest.mark.processes
def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    out = tmp_path / "pid"
    script = f"sleep 60 & echo $! > {out}; wait"
    assert "did not end within 2 s" in tell(("/bin/sh", "-c", script), REPORT, patience=2.0)
    child = int(out.read_text())
    for _ in range(100):
        if not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie":
            return
        time.sleep(0.05)
    pytest.fail("the command's child still runs")
