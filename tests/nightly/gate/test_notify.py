"""Reports on the disk, whole or not at all, and a command that hears of a regression."""

import json
import sys
import time
from contextlib import suppress
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


def test_a_full_disk_or_no_folder_stops_no_other_report(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    full = device(tmp_path, "full")
    places = {"junit": tmp_path / "file" / "gate.xml", "sarif": full}
    errors = write_reports(REPORT, places | {"markdown": tmp_path / "gate.md"})
    assert [type(error) for error in errors] == [RecordingError] * 2
    assert "No space left" in errors[1].message
    assert (tmp_path / "gate.md").read_text() == markdown(REPORT)
    assert "No space left" in append_summary(REPORT, full)


def test_a_summary_is_added_to_what_others_wrote(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    assert append_summary(REPORT, file) == ""
    assert file.read_text() == "before\n" + markdown(REPORT)


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
    script = f"sleep 600 & echo $! > {out}; wait"
    assert "did not end within 2 s" in tell(("/bin/sh", "-c", script), REPORT, patience=2.0)
    child = int(out.read_text())
    with suppress(psutil.NoSuchProcess):
        for _ in range(100):
            if psutil.Process(child).status() == "zombie":
                return
            time.sleep(0.05)
        pytest.fail("what it had started still runs")
