"""Reports on the disk: whole or not at all, and nothing of others' is harmed."""

from dataclasses import replace
from pathlib import Path

from devices import device
from gate_night import NIGHT
from tracekit.base.errors import RecordingError
from tracekit.nightly.gate.notify import Destinations, append_summary, write_reports
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.gate.report.text import markdown

REPORT = of_night(NIGHT)


def test_each_report_is_written_to_its_file(tmp_path: Path) -> None:
    names = ("gate.xml", "gate.sarif", "gate.prom", "gate.md")
    destinations = Destinations(*(tmp_path / "new" / one for one in names))
    assert write_reports(REPORT, destinations) == []
    begins = [(tmp_path / "new" / one).read_text()[:9] for one in names]
    assert begins == ["<?xml ver", '{\n  "$sch', "# HELP tr", "## 💥 Fail"]


def test_nothing_is_written_that_nobody_asked_for(tmp_path: Path) -> None:
    assert write_reports(REPORT, Destinations()) == []
    assert not list(tmp_path.iterdir())


def test_a_scraper_never_sees_half_a_file(tmp_path: Path) -> None:
    """The new text takes the old one's place: who reads the old one reads all of it."""
    file = tmp_path / "gate.prom"
    write_reports(REPORT, Destinations(openmetrics=file))
    with file.open("rb") as reader:
        first = reader.read(10)
        write_reports(replace(REPORT, plan="other"), Destinations(openmetrics=file))
        assert (first + reader.read()).endswith(b"# EOF\n")
    assert 'plan="other"' in file.read_text()
    assert list(tmp_path.iterdir()) == [file]


def test_a_report_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    destinations = Destinations(junit=tmp_path / "file" / "gate.xml", markdown=tmp_path / "gate.md")
    (error,) = write_reports(REPORT, destinations)
    assert isinstance(error, RecordingError)
    assert (tmp_path / "gate.md").exists()


def test_a_device_is_written_to_and_a_link_stays(tmp_path: Path) -> None:
    null = device(tmp_path, "null")
    (tmp_path / "link").symlink_to(null)
    places = Destinations(junit=tmp_path / "link")
    assert write_reports(REPORT, places) == []
    assert (tmp_path / "link").is_symlink()
    assert null.is_char_device()


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    write_reports(REPORT, Destinations(markdown=tmp_path / "link.md"))
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text() == markdown(REPORT)


def test_a_summary_is_added_to_what_others_wrote(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    assert append_summary(REPORT, file) == ""
    assert file.read_text() == "before\n" + markdown(REPORT)


def test_a_summary_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    assert "could not be written" in append_summary(REPORT, tmp_path / "no" / "summary.md")
