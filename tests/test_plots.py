"""The pictures of a run: what they draw, the reasons why they do not, and their files."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracekit
from bundle_writer import RunInfo, write_bundle
from report_runs import MS, bare, host_tables
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit import plots
from tracekit.base import InconclusiveError, Provenance, ToolError, UsageError
from typed_rows import frames

GNOME = "$a^_$"
M1 = Provenance(machine={"chip": "Apple M1", "gpu_cores": 8})
PNG = b"\x89PNG"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    rows = intervals((0, 10, PYTHON), (5, 10, PYTHON), (40, 10, SERVER), (100, 20, PYTHON))
    return write_bundle(tmp_path / "mine.trace", [ticks([1]), rows], info=RunInfo())


def titles_of(plot: plots.Plot) -> list[str]:
    (axes,) = plot.figure.axes
    return [label.get_text() for label in axes.get_yticklabels()]


def test_a_bundle_is_a_picture_in_three_lines(bundle: Path) -> None:
    run = tracekit.open(bundle)
    plot = run.plot.timeline()
    assert plot._repr_png_().startswith(PNG)
    assert titles_of(plot) == ["Compute: python3", "GPU: WindowServer"]
    assert repr(plot).startswith("<Plot: Timeline of 120 ns")
    assert run.plot.idle().title == "Idle for 70.8 % of 120 ns, by cause"


@pytest.mark.corpus
def test_a_real_bundle_is_a_frame_in_two_lines_and_a_picture_in_three(corpus: Path) -> None:
    bundle = next(corpus.rglob("gpu_baseline.trace"))
    run = tracekit.open(bundle)
    assert len(run.tables["gpu_intervals"]) > 100
    assert run.plot.timeline()._repr_png_().startswith(PNG)
    assert "%" in run.plot.idle().title


def test_rows_are_those_with_events_in_the_window() -> None:
    tables = host_tables()
    whole = plots.draw_timeline(tables, 0, 700 * MS)
    assert titles_of(whole) == ["Phases", "Steps", "Submissions", "CPU: python3"]
    late = plots.draw_timeline(tables, 649 * MS, 650 * MS)
    assert titles_of(late) == ["Phases"]
    (axes,) = late.figure.axes
    assert axes.get_xlim() == (649.0, 650.0)
    with pytest.raises(InconclusiveError, match="no event of the target lies in that time"):
        plots.draw_timeline(tables, 900 * MS, 901 * MS)
    with pytest.raises(InconclusiveError, match="its end is not after its start"):
        plots.draw_timeline(tables, 2, 2)
    with pytest.raises(InconclusiveError, match="no table has events"):
        plots.draw_timeline({})


def test_names_are_drawn_as_they_are() -> None:
    row = {"start": 0, "duration": MS, "channel": GNOME, "process": GNOME, "pid": 1}
    tables = frames(gpu_intervals=[row | {"label": f"_{GNOME}", "target": True}])
    plot = plots.draw_timeline(tables)
    assert plot._repr_png_().startswith(PNG)
    (legend,) = plot.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [f" _{GNOME}"]


def test_events_that_are_close_are_one_bar_with_their_time_at_work() -> None:
    starts, ends = np.array([0, 5, 30, 31, 90]), np.array([10, 8, 31, 34, 91])
    bars = [values.tolist() for values in plots.join_close(starts, ends, 20.0)]
    assert bars == [[0, 90], [34, 91], [14, 1]]
    apart = [values.tolist() for values in plots.join_close(starts, ends, 0.0)]
    assert apart == [[0, 30, 90], [10, 34, 91], [10, 4, 1]]


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 60)), min_size=1, max_size=40),
    st.integers(0, 80),
)
def test_bars_are_apart_and_keep_the_time_at_work(
    events: list[tuple[int, int]], least: int
) -> None:
    events.sort()
    starts = np.array([start for start, _ in events])
    ends = np.array([start + length for start, length in events])
    covered = {moment for start, length in events for moment in range(start, start + length)}
    firsts, lasts, work = plots.join_close(starts, ends, least)
    assert work.sum() == len(covered)
    assert (work <= lasts - firsts).all()
    assert (firsts[1:] > lasts[:-1] + least).all()


def roofline_of(provenance: Provenance = M1, **model: Any) -> plots.Plot:
    steps = [{"start": number * MS, "duration": MS, "phase": "steady"} for number in range(4)]
    row = {"time": 0, "backend": "metal", "bytes_unique": 15 * MS, "bytes_written": 0}
    tables = frames(step_models=[row | {"flops": 60 * MS} | model], steps=steps)
    return plots.draw_roofline(bare().having(provenance=provenance).result, tables)


def test_steps_lie_under_the_roof_of_their_chip() -> None:
    plot = roofline_of()
    assert plot.title.startswith("Steps under the roof of Apple M1, 68.2")
    (axes,) = plot.figure.axes
    point = axes.lines[-1]
    assert point.get_xdata() == pytest.approx([4.0])
    assert point.get_ydata() == pytest.approx([60e9])
    for reasons, options in (
        ("no bandwidth of a CPU is published", {"backend": "cpu"}),
        ("does not give the operations", {"flops": 0}),
        ("does not say which chip", {"provenance": Provenance()}),
    ):
        with pytest.raises(InconclusiveError, match=reasons):
            roofline_of(**options)


def test_a_picture_is_a_file_of_its_suffix(tmp_path: Path) -> None:
    plot = roofline_of()
    begins = {"png": PNG, "svg": b"<?xml", "pdf": b"%PDF"}
    for suffix, begin in begins.items():
        file = plot.save(tmp_path / f"roof.{suffix}")
        assert file.read_bytes().startswith(begin), suffix
    with pytest.raises(UsageError, match="no format of pictures 'gif'"):
        plot.save(tmp_path / "roof.gif")


def test_without_matplotlib_the_error_is_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ToolError, match="A plot needs matplotlib, which is not installed") as info:
        roofline_of()
    assert "plots" in info.value.hint
