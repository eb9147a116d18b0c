"""Single files that somebody gives to `tracekit import`: read whole, or refused by their name."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import join_stderr, run

Xml = Callable[..., str]
EXACT = (
    "Index,Encoder Index,CommandBuffer Index,FunctionIndex,CommandBuffer Label,Encoder Label,Marker"
)
RELU = (
    f'{EXACT},"GPU Time","Kernel Occupancy","Buffer Write Limiter","Buffer Write Utilization",'
    '"Vertex Shader Time"\n0,0,0,7,Command Buffer 0,Compute Encoder 0,,25320.84351907166,75.77%,'
    "88.64%,8.67%,-1.00%\n"
)
OURS = (4711, "python3")


def output_of(capsys: Any, *arguments: str | Path) -> str:
    assert run(*arguments) == 0, join_stderr(capsys.readouterr())
    return capsys.readouterr().out


def refuse_import(capsys: Any, folder: Path, name: str, content: bytes) -> str:
    """Return the words in which an import of a file of this content is refused."""
    (folder / name).write_bytes(content)
    output = folder / f"of-{name}"
    assert run("import", folder / name, "--output", output) == 3
    assert not output.exists()
    return join_stderr(capsys.readouterr())


def test_counters_with_all_digits_go_from_import_to_a_page(tmp_path: Path, capsys: Any) -> None:
    file, folder = tmp_path / "relu.csv", tmp_path / "X"
    file.write_text(RELU)
    output_of(capsys, "import", file, "--output", folder)
    assert "replay_counters" in output_of(capsys, "tables", folder)
    output_of(capsys, "analyze", folder)
    values = {
        metric["name"]: metric["value"]
        for metric in json.loads((folder / "result.json").read_text())["metrics"]
        if metric["value"] is not None
    }
    assert values == {"replay_occupancy": pytest.approx(0.7577)}
    output_of(capsys, "report", folder)
    page = (folder / "report.html").read_text()
    for words in (
        "values of a serialized replay at a fixed clock",
        "its share of the sum of their GPU Time",
        "Buffer Write in encoders of 100.0 % of the cost",
        "met the limit of buffer access: Buffer Write was busy or stalled for up to 88.6 %",
        "Vertex Shader Time in 1 encoder: negative",
        "not available",
    ):
        assert words in page, words


def test_foreign_csv_files_are_refused_by_name(
    tmp_path: Path, capsys: Any, subtests: pytest.Subtests
) -> None:
    exact = RELU.encode()
    for name, content, words in (
        ("debug.json", b'{"performance": {}}', "`gpudebug --json` writes, whose form is not"),
        ("mine.csv", b"time,cpu\n1,2\n", "unknown header: 'time', 'cpu'."),
        ("cut.csv", b"Index,Encoder Index,Name\n", "unknown header: 'Index', 'Encoder Index', 'Na"),
        ("german.csv", exact.replace(b",", b";"), "with semicolons between them"),
        ("excel.csv", b"Zeit;Wert\n1;2,5\n", "unknown header: 'Zeit', 'Wert'."),
        ("relu.csv.gz", gzip.compress(exact), "compressed by gzip"),
        ("gpu.xml", gzip.compress(b"<trace-toc/>"), "compressed by gzip"),
        ("x.xml", b"PK\x03\x04\x14\0", "a zip file"),
        ("wide.xml", "<trace-toc/>".encode("utf-16"), "is UTF-16"),
        ("none.csv", b"", "is empty"),
        ("cell.csv", exact.replace(b"75.77%", b"75.77"), "without a percent sign"),
        ("head.csv", f"{EXACT},GPU Time\n".encode(), "no encoder"),
    ):
        with subtests.test(name):
            assert words in refuse_import(capsys, tmp_path, name, content)


@pytest.mark.parametrize("name", ["gpu.txt", "gpu", "gpu.XML", "export of gpu.xml.download"])
def test_an_export_is_read_whatever_it_is_called(
    tmp_path: Path, intervals_xml: Xml, capsys: Any, name: str
) -> None:
    file, folder = tmp_path / name, tmp_path / "run"
    file.write_text(intervals_xml([(0, 10, *OURS), (5, 10, *OURS)]))
    output_of(capsys, "import", file, "--output", folder)
    assert "gpu_intervals\t2\t" in output_of(capsys, "tables", folder)
