"""A run as Chrome's JSON."""

import io
import json
from typing import Any

import pandas as pd

from tracekit.interop.chrome import write_chrome
from tracekit.interop.tracks import tracks

Tables = dict[str, pd.DataFrame]


def events(tables: Tables) -> list[dict[str, Any]]:
    file = io.BytesIO()
    write_chrome(list(tracks(tables)), file)
    document = json.loads(file.getvalue())
    assert document["displayTimeUnit"] == "ns"
    return document["traceEvents"]


def test_slices_keep_every_nanosecond(tables: Tables) -> None:
    [copy] = [one for one in events(tables) if one["name"] == "copy"]
    assert copy["ph"] == "X"
    assert (copy["ts"], copy["dur"]) == (4.0, 1.5)
    assert copy["args"] == {
        "command_buffer": 70,
        "encoder": 80,
        "start_latency": 2100,
        "pid": 4711,
    }


def test_processes_and_tracks_are_named(tables: Tables) -> None:
    found = events(tables)
    names = {one["args"]["name"]: one["pid"] for one in found if one["name"] == "process_name"}
    assert set(names) == {"Workload", "python3", "GPU", "Machine"}
    assert names["python3"] == 4711
    assert len(set(names.values())) == 4
    tids = [(one["tid"], one["args"]["name"]) for one in found if one["name"] == "thread_name"]
    assert len(dict(tids)) == len(tids)
    assert [name for _, name in tids].count("Command buffers") == 2


def test_chains_begin_once_and_go_on(tables: Tables) -> None:
    steps: dict[str, str] = {}
    for one in events(tables):
        if one.get("cat") == "work":
            steps[one["id"]] = steps.get(one["id"], "") + one["ph"]
    assert sorted(steps.values()) == ["s", "st", "st", "st", "st"]


def test_ids_of_arrows_are_texts_that_no_viewer_rounds(tables: Tables) -> None:
    later = {
        name: frame.replace({"pid": {4711: 99_998}}) if "pid" in frame else frame
        for name, frame in tables.items()
    }
    ids = {one["id"] for one in events(later) if one.get("cat") == "work"}
    assert len(ids) == 5
    assert len({float(int(one, 16)) for one in ids}) < 5


def test_levels_are_counters(tables: Tables) -> None:
    levels = [one for one in events(tables) if one["ph"] == "C"]
    assert [(one["ts"], one["args"]) for one in levels] == [(4.0, {"%": 40.5}), (4.2, {"%": 50.25})]


def test_without_tracks_the_document_is_whole() -> None:
    assert events({}) == []
