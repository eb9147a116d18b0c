"""The benchmark as a whole, at a tiny size: it compares, times, and writes; never how fast."""

import json
from pathlib import Path

import pytest

import parse
from reading.methods import METHODS, named
from reading.rounds import Export, Outcome, compare
from reading.summary import as_markdown

PLACE = "# Speed\n\n<!-- written by bench/parse.py -->\nold\n<!-- end -->\n\nMore.\n"


@pytest.mark.processes
def test_a_run_compares_times_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, data = tmp_path / "page.md", tmp_path / "speed.json"
    page.write_text(PLACE)
    ways = ["--method=tracekit, exact", "--method=read(2)"]
    where = [f"--data={tmp_path}", f"--json={data}", f"--markdown={page}"]
    parse.main(["--mb=0.05", "--rounds=1", "--kind=counters", *ways, *where])

    found = json.loads(data.read_text())
    (export,) = found["exports"]
    assert export["rows"] == (tmp_path / "counters-0.05-1.xml").read_text().count("<row>")
    assert [*export["methods"]] == ["tracekit, exact", "read(2)"]
    for name, result in (
        ("tracekit, exact", "equal to the truth"),
        ("read(2)", "decodes nothing"),
    ):
        assert export["methods"][name]["result"] == result
        assert len(export["methods"][name]["seconds"]) == 1
    written = page.read_text()
    assert written.startswith("# Speed\n\n<!-- written by bench/parse.py -->\n\n- machine: ")
    assert written.endswith("<!-- end -->\n\nMore.\n")
    assert "old" not in written
    assert written.partition("- machine: ")[2].partition("<!-- end")[0].strip() in (
        capsys.readouterr().out
    )


def test_a_page_without_a_place_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Speed\n")
    with pytest.raises(SystemExit, match="no place for the table"):
        parse.main(["--mb=0", f"--markdown={page}"])
    assert page.read_text() == "# Speed\n"


@pytest.mark.processes
def test_what_gives_up_is_told_and_not_timed(tmp_path: Path) -> None:
    path = tmp_path / "odd.xml"
    path.write_text("<no-export/>")
    said: list[str] = []
    (outcome,) = compare(Export("odd", path), [named("lxml, tuned")], 20, said.append)
    assert outcome.verdict == f"gave up: ValueError: {path} has no header"
    assert not outcome.timed
    assert said == [f"odd, 0 MB: lxml, tuned: {outcome.verdict}"]


def test_slow_ways_skip_large_files(exports: dict[str, Path]) -> None:
    slow = [one for one in METHODS if one.slow]
    outcomes = compare(Export("counters", exports["counters"]), slow, 0.1, lambda _: None)
    assert [one.verdict for one in outcomes] == ["skipped: only up to 0.1 MB"] * len(slow)
    assert not any(one.timed for one in outcomes)


def outcomes() -> list[Outcome]:
    return [
        Outcome(
            named("tracekit, fast"),
            "equal to the truth",
            rows=1000,
            seconds=[0.01, 0.02, 0.01],
            cpu=[0.01, 0.01, 0.01],
            memory=[5_000_000, 6_000_000, 7_000_000],
        ),
        Outcome(
            named("lxml, tuned"),
            "equal to the truth",
            1000,
            [0.04, 0.04, 0.05],
            [0.04] * 3,
            [9_000_000],
        ),
        Outcome(
            named("xmllint --sax"), "decodes nothing", seconds=[0.02] * 3, memory=[15_000_000] * 3
        ),
        Outcome(named("lxml, naive"), "skipped: only up to 1 MB", timed=False),
    ]


def test_a_table_has_medians_and_paired_ratios(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(bytes(2_000_000))
    lines = as_markdown(Export("made", path), outcomes()).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert lines[0] == "**made**: 2 MB, 1,000 rows"
    assert cells[2] == [
        "tracekit, fast",
        "200",
        "100,000",
        "6 MB",
        "4.00 [2.00 - 5.00]",
        "2.00 [1.00 - 2.00]",
        "equal to the truth",
    ]
    assert cells[4][3:6] == ["15 MB", "2.00 [2.00 - 2.50]", "1.00 [1.00 - 1.00]"]
    assert cells[5] == ["lxml, naive", "", "", "", "", "", "skipped: only up to 1 MB"]
    assert len({len(line) for line in lines[2:]}) == 1
