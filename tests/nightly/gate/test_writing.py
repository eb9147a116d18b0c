"""Reports on the disk: whole or not at all, and nothing of others' is harmed."""

from dataclasses import replace
from pathlib import Path

from devices import device
from gate_night import NIGHT
from tracekit.base.errors import RecordingError
from tracekit.nightly.gate.notify import WRITERS, append_summary, write_reports
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.gate.report.text import markdown

REPORT = of_night(NIGHT)


def test_each_report_is_written_to_its_file(tmp_path: Path) -> None:
    names = ("gate.xml", "gate.sarif", "gate.prom", "gate.md")
    files = {name: tmp_path / "new" / one for name, one in zip(WRITERS, names, strict=True)}
    assert write_reports(REPORT, files) == []
    begins = [(tmp_path / "new" / one).read_text()[:9] for one in names]
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


def test_a_device_is_written_to_and_a_link_stays(tmp_path: Path) -> None:
    null = device(tmp_path, "null")
    (tmp_path / "link").symlink_to(null)
    assert write_reports(REPORT, {"junit": tmp_path / "link"}) == []
    assert (tmp_path / "link").is_symlink()
    assert null.is_char_device()


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    write_reports(REPORT, {"markdown": tmp_path / "link.md"})
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text() == markdown(REPORT)


def test_a_summary_is_added_to_what_others_wrote(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    assert append_summary(REPORT, file) == ""
    assert file.read_text() == "before\n" + markdown(REPORT)


def test_a_summary_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    assert "could not be written" in append_summary(REPORT, tmp_path / "no" / "summary.md")
