"""GPU frame captures by the commands that read bundles."""

import json
from pathlib import Path

import pandas as pd
import pytest

from capture_writer import small_capture
from command_line import run
from tracekit.base import Recording

SOURCES = {"/Users/anne/src/probe.metal": b"// anne's secret\nkernel void probe() {}\n"}
SECRETS = ("annes-mac", "0F5A9B1C", "anne's secret", "/Users/anne")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return small_capture(SOURCES).write(tmp_path / "made.gputrace")


def find_secrets(folder: Path) -> list[tuple[str, str]]:
    """Return each secret in the files of a folder, those in Parquet included."""
    findings: list[tuple[str, str]] = []
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        text = path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            text = pd.read_parquet(path).to_csv()
        findings += [(path.name, secret) for secret in SECRETS if secret in text]
    return findings


def test_an_import_reads_the_capture_in_place(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert run("import", bundle, "--output", folder) == 0
    recording = Recording(folder)
    assert recording.gputrace.resolve() == bundle
    provenance = recording.provenance()
    assert provenance.recorder == "import"
    assert provenance.machine == {
        "model": "Mac14,2", "release": "26.0", "build": "25A5346a", "metal": "370.63.1",
    }  # fmt: skip
    capsys.readouterr()
    assert run("tables", folder, "dispatches", "--output", tmp_path / "d.csv") == 0
    assert pd.read_csv(tmp_path / "d.csv")["function"].tolist() == ["probe"]
    assert run("tables", folder) == 0  # which caches all of them
    assert run("analyze", folder) == 0
    assert run("report", folder) == 0
    recording.gputrace.unlink()  # whose private parts are its own
    assert find_secrets(folder) == []


def test_private_parts_of_an_import_are_those_it_was_asked_for(
    bundle: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    assert run("import", bundle, "--output", folder, "--include", "source") == 0
    assert run("tables", folder, "capture_sources", "--output", tmp_path / "s.csv") == 0
    (text,) = pd.read_csv(tmp_path / "s.csv")["text"]
    assert text == SOURCES["/Users/anne/src/probe.metal"].decode()
    assert run("tables", folder, "capture_contents") == 3
    assert run("tables", folder, "--include", "buffers") == 2
    assert run("tables", bundle, "--include", "weights") == 2


def test_a_folder_of_captures_is_imported(bundle: Path, tmp_path: Path) -> None:
    small_capture().write(tmp_path / "other.gputrace")
    assert run("import", tmp_path, "--output", tmp_path / "one") == 2
    bundle.rename(tmp_path / "made.bundle")
    assert run("import", tmp_path, "--output", tmp_path / "one") == 0
    assert Recording(tmp_path / "one").provenance().workload == "other"


def test_every_format_has_the_rows(bundle: Path, tmp_path: Path) -> None:
    read = {"parquet": pd.read_parquet, "csv": pd.read_csv, "feather": pd.read_feather}
    for form, read_form in read.items():
        assert run("convert", bundle, tmp_path / form, "--to", form) == 0, form
        frame = read_form(tmp_path / form / f"capture-dispatches.{form}")
        assert frame["threads-x"].tolist() == [100], form
        assert len(list((tmp_path / form).iterdir())) == 9, form
    one = tmp_path / "one.parquet"
    assert run("convert", bundle, one, "--schema", "capture-bindings") == 0
    assert pd.read_parquet(one)["name"].tolist() == ["out", "count", "spare"]


def test_sql_reads_a_capture(bundle: Path, tmp_path: Path) -> None:
    sql = (
        "SELECT d.function, b.name, b.value FROM dispatches d JOIN bindings b "
        "ON b.dispatch = d.index WHERE b.value IS NOT NULL"
    )
    output = tmp_path / "answer.csv"
    assert run("query", sql, bundle, "--output", output) == 0
    assert pd.read_csv(output).to_numpy().tolist() == [["probe", "count", 100.0]]


def test_verify_reads_every_part(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("runs", "verify", bundle, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["state"] == "whole"
    assert document["checked"] == {"contents": 9, "calls": 10, "dispatches": 1}
    folder = tmp_path / "run"
    assert run("import", bundle, "--output", folder) == 0
    assert run("runs", "verify", folder) == 0
    (bundle / "index").write_bytes((bundle / "index").read_bytes() + b"more")
    assert run("runs", "verify", bundle) == 4
    (bundle / "capture").write_bytes(b"")
    assert run("runs", "verify", bundle) == 3
    (bundle / "index").write_bytes(b"")
    assert run("runs", "verify", bundle) == 3


def test_a_damaged_capture_ends_with_3(bundle: Path, tmp_path: Path) -> None:
    (bundle / "capture").unlink()
    assert run("tables", bundle, "dispatches") == 3
    (bundle / "index").unlink()
    for words in (
        ("tables", bundle),
        ("convert", bundle, tmp_path / "out", "--to", "csv"),
        ("import", bundle, "--output", tmp_path / "run"),
        ("runs", "redact", bundle, tmp_path / "copy.gputrace"),
    ):
        assert run(*words) == 3, words
    assert not (tmp_path / "run").exists()


def test_a_capture_has_no_xml(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("export", bundle) == 2
    assert "has no exports as XML" in capsys.readouterr().err


def test_pruned_tables_of_a_capture_stay(bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs/run"
    assert run("import", bundle, "--output", folder) == 0
    recording = Recording(folder)
    recording.gputrace.unlink()
    bundle.rename(recording.gputrace)
    assert run("analyze", folder) == 0
    assert run("runs", "prune", tmp_path / "runs", "--max-size", "1B", "--newest", "0") == 0
    assert not recording.gputrace.exists()
    for table, rows in (("dispatches", 1), ("bindings", 3), ("functions", 1)):
        assert run("tables", folder, table, "--output", tmp_path / f"{table}.csv") == 0, table
        assert len(pd.read_csv(tmp_path / f"{table}.csv")) == rows, table


def test_a_check_has_exit_codes_and_reports(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("kernel", "check", bundle) == 0
    assert "As expected: all " in capsys.readouterr().out
    junit = tmp_path / "check.xml"
    expected = ("--expect", "function~probe", "--expect", "threadgroup==64")
    assert run("kernel", "check", bundle, *expected, "--junit", junit) == 1
    assert "Not as expected: 1 of " in capsys.readouterr().out
    assert 'failures="1"' in junit.read_text()
    assert run("kernel", "check", bundle, "--expect", "constants.TILE==8") == 4
    assert run("kernel", "check", bundle, "--expect", "threadgroups==8") == 2
    assert run("kernel", "check", tmp_path / "none.gputrace") == 2


def test_captures_are_compared_by_their_dispatches(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = small_capture().write(tmp_path / "other.gputrace")
    assert run("compare", bundle, other) == 0
    assert capsys.readouterr().out.strip() == (
        "The same: 1 of 1 dispatches, in all recorded facts."
    )
    wide = small_capture()
    again = wide.calls[-3]
    wide.calls.insert(-3, again)
    wide.write(tmp_path / "wide.gputrace")
    assert run("compare", bundle, tmp_path / "wide.gputrace", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "Changed dispatches: 0; the same: 1; on one side only: 1."
    assert run("compare", bundle, other, "--html", tmp_path / "page.html") == 2
    assert run("compare", bundle, other, "--metric", "gpu_busy") == 2
    assert run("compare", bundle, bundle, "vs", other, other) == 2


def test_a_run_that_made_a_capture_is_checked_in_its_folder(bundle: Path, tmp_path: Path) -> None:
    recording = Recording(tmp_path / "run")
    recording.folder.mkdir()
    recording.gputrace.symlink_to(bundle)
    assert run("kernel", "check", recording.folder) == 0
