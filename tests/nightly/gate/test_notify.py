"""Reports on the disk, whole or not at all, and a command that hears of a regression."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote

import pytest

from children import until_gone
from devices import device
from gate_night import NIGHT
from tracekit.base.errors import RecordingError, UsageError
from tracekit.nightly.gate import notify
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.gate.report.text import markdown

REPORT = of_night(NIGHT)


def test_each_report_is_written_to_its_file_and_a_summary_added_to_one(tmp_path: Path) -> None:
    files = {name: tmp_path / "new" / name for name in notify.WRITERS}
    assert notify.write_reports(REPORT, files) == []
    begins = [file.read_text()[:9] for file in files.values()]
    assert begins == ["<?xml ver", '{\n  "$sch', "# HELP tr", "## 💥 Fail", "### 💥 Fai"]
    assert notify.append_summary(REPORT, files["markdown"]) == ""
    assert files["markdown"].read_text() == 2 * markdown(REPORT)


def test_a_full_disk_or_no_folder_stops_no_other_report(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    full = device(tmp_path, "full")
    places = {"junit": tmp_path / "file" / "gate.xml", "sarif": full}
    errors = notify.write_reports(REPORT, places | {"markdown": tmp_path / "gate.md"})
    assert [type(error) for error in errors] == [RecordingError] * 2
    assert "No space left" in errors[1].message
    assert (tmp_path / "gate.md").read_text() == markdown(REPORT)
    assert "No space left" in notify.append_summary(REPORT, full)


def test_a_command_is_parted_as_a_shell_would_and_facts_are_lines() -> None:
    assert notify.command_of("mail -s 'it is slow' $HOME") == ("mail", "-s", "it is slow", "$HOME")
    for text, message in (("mail 'x", "No closing quotation"), (" ", "no command")):
        with pytest.raises(UsageError, match=message):
            notify.command_of(text)
    facts = notify.facts(replace(REPORT, reason="a\nb\0c", title="\ud800"))
    assert facts["TRACEKIT_REASON"] == r"a b\u0000c"
    assert facts["TRACEKIT_TITLE"].encode()


def test_a_command_gets_the_report_and_the_facts(tmp_path: Path) -> None:
    output_file = tmp_path / "heard.json"
    program = (
        "import json, os, sys\n"
        "heard = {'report': json.load(sys.stdin), 'env': dict(os.environ)}\n"
        f"open({str(output_file)!r}, 'w').write(json.dumps(heard)); raise SystemExit(7)"
    )
    long = replace(REPORT, warnings=("x" * 100_000,))
    assert notify.tell((sys.executable, "-c", program), long).endswith("ended with 7.")
    heard = json.loads(output_file.read_text())
    assert heard["report"]["subject"] == NIGHT.id
    assert heard["report"]["suites"][0]["cases"][0]["change"] == 0.098
    heard_facts = {
        name: value for name, value in heard["env"].items() if name in notify.facts(REPORT)
    }
    assert heard_facts == {
        "TRACEKIT_OUTCOME": "failed",
        "TRACEKIT_TITLE": f"Night {NIGHT.id} of attention",
        "TRACEKIT_SUBJECT": NIGHT.id,
        "TRACEKIT_REASON": "serve failed; decode is worse.",
        "TRACEKIT_PLAN": "attention",
        "TRACEKIT_MACHINE": "m1-8gb",
        "TRACEKIT_COMMIT": "5d6e7f8",
        "TRACEKIT_STARTED": NIGHT.started,
        "TRACEKIT_WORSE": "decode: step_p50",
    }


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("/nowhere/mail",), "could not be run: No such file"),
        (("/",), "could not be run: it is a folder"),
        (("a\0b",), "could not be run"),
        (("/bin/sh", "-c", "kill -9 $$"), "ended with -9"),
        (("/bin/sh", "-c", "exec <&-"), ""),  # one that reads nothing does no harm
    ],
)
def test_errors_of_a_hook_are_reported(command: tuple[str, ...], said: str) -> None:
    words = notify.tell(command, replace(REPORT, warnings=("x" * 1_000_000,)))
    assert said in words
    assert bool(words) is bool(said)


@pytest.mark.processes
def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {quote(str(pid_file))}; wait"
    assert "did not end within 2 s" in notify.tell(("/bin/sh", "-c", script), REPORT, patience=2.0)
    until_gone(int(pid_file.read_text()))
