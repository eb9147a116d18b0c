"""The shares that the docs publish of real recordings, summed up from their raw rows."""

import re
from pathlib import Path

import pandas as pd
import pytest

import tracekit

pytestmark = pytest.mark.corpus
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "what-real-traces-show.md"
PLACE = "Oichkatzelesfrettschen+steinmarder/src/re/apple/results/tranche1_20260330_204856"
ROW = re.compile(
    r"^\| `(gpu_\w+)` \| ([\d,]+) \| ([\d.]+) \|" + r" ([\d.]+) % \|" * 4, re.MULTILINE
)
ROWS = {name: numbers for name, *numbers in ROW.findall(PAGE.read_text())}


def command_buffers(folder: Path, name: str) -> pd.DataFrame:
    """Join commit, start, end and report of each command buffer of the probe, in order; ns."""
    work = tracekit.read_table(folder / f"xctrace_{name}_metal-gpu-intervals.xml")
    done = tracekit.read_table(folder / f"xctrace_{name}_metal-command-buffer-completed.xml")
    target_work = work[work["process"].astype(str).str.contains("sm_apple_metal_probe")]
    lives = pd.DataFrame(
        {
            "buffer": target_work["cmdbuffer-id"],
            "committed": target_work["start"] - target_work["start-latency"],
            "started": target_work["start"],
            "ended": target_work["start"] + target_work["duration"],
        }
    )
    buffers = lives.groupby("buffer").agg({"committed": "min", "started": "min", "ended": "max"})
    reports = done.groupby("cmdbuffer-id")["timestamp"].max()
    return buffers.assign(reported=reports).dropna().sort_values("committed").astype("int64")


@pytest.mark.parametrize("name", sorted(ROWS))
def test_published_shares_are_those_of_the_raw_rows(name: str, corpus: Path) -> None:
    folder = corpus / PLACE
    buffers = command_buffers(folder, name)
    parts = {
        "device": (buffers["ended"] - buffers["started"]).sum(),
        "way there": (buffers["started"] - buffers["committed"]).sum(),
        "way back": (buffers["reported"] - buffers["ended"]).sum(),
        "host": (buffers["committed"].shift(-1) - buffers["reported"]).dropna().sum(),
    }
    total = sum(parts.values())
    published = [float(number) for number in ROWS[name][2:]]
    assert [100 * part / total for part in parts.values()] == pytest.approx(
        published, abs=1.0
    )  # the loop leaves out its ends
    assert len(buffers) == pytest.approx(int(ROWS[name][0].replace(",", "")), abs=2)
