"""`tracekit bench chip`: figures with their sources, or the reason why there are none."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_error

CONFIG = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 128256,
}
M4_MAX = ("bench", "chip", "--name", "Apple M4 Max", "--gpu-cores", "40")


def rows(text: str) -> dict[str, list[str]]:
    lines = [line.split("\t") for line in text.splitlines()]
    return {name.strip(): cells for name, *cells in lines}


def test_a_chip_has_figures_with_source_and_confidence(tracekit: Any) -> None:
    result = tracekit("bench", "chip", "--name", "m4  Max", "--gpu-cores", "40")
    assert (result.code, result.err) == (0, "")
    figures = rows(result.out)
    assert (figures["chip"][0], figures["gpu cores"][0]) == ("Apple M4 Max", "40")
    assert figures["bandwidth"] == ["546 GB/s", "published: Apple's announcement"]
    assert figures["float32"][0] == "17.12 TFLOP/s"
    assert figures["float32"][1].startswith("low: cores x 128 lanes")
    assert figures["float16"][0].startswith("not available, because one guide states both 32")
    assert figures["ridge"][0] == "31.36 FLOP/byte"


def test_an_unknown_chip_is_answered_with_known_ones(tracekit: Any) -> None:
    hints = {"Apple M4 Mox": "Did you mean Apple M4", "EPYC": "There are: Apple M1, Apple M1 Pro, "}
    for name, hint in hints.items():
        result = tracekit("bench", "chip", "--name", name)
        assert rows(result.out)["bandwidth"][0].startswith("not available, because"), name
        assert (result.code, hint in result.err) == (0, True), (name, result.err)


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has figures")
def test_a_machine_that_is_not_a_mac_is_reported(tracekit: Any) -> None:
    figures = rows(tracekit("bench", "chip").out)
    assert figures["gpu cores"][0].startswith("not available, because neither `ioreg`")
    assert figures["bandwidth"][0].startswith("not available, because")
    assert "GiB" in figures["memory"][0]
    assert "measured" not in figures
    assert "architecture" not in figures


def test_a_shape_is_shown_with_its_launch(tracekit: Any) -> None:
    result = tracekit(*M4_MAX, "--batch", "2", "--q-heads", "32", "--context", "4096")
    figures = rows(result.out)
    assert "2 sequences of 4096 tokens, 32 query and 8 K/V heads of 128" in result.err
    assert "tracekit bench tune" in result.err
    assert figures["heads"][1].endswith("each row of K and V is loaded once.")
    assert figures["threadgroup"][0] == "512"
    alone = "threads: each of 32 threadgroups has one of the 40 cores to itself."
    assert figures["threadgroup"][1] == alone
    assert figures["partitions"][0] == "2"
    assert figures["intensity"][0] == "4 FLOP/byte"
    assert figures["bound"][0] == "61.5 µs"
    assert "of memory alone; the rate of arithmetic is not known" in figures["bound"][1]
    figures = rows(tracekit(*M4_MAX, "--dtype", "float32").out)
    assert figures["bound"][1] == "of memory; an M1 Max reached about 80 % of its bandwidth."
    assert figures["bytes"][0] == "134.5 MB"
    figures = rows(tracekit("bench", "chip", "--name", "Apple M4 Max", "--batch", "2").out)
    assert figures["bound"][0] == "not available"
    assert "how many this one has is not known" in figures["bound"][1]
    assert figures["partitions"][0] == "4"
    assert figures["threadgroup"][1].endswith("a usual number; that of this GPU is not known.")


def test_json_says_the_same(tracekit: Any) -> None:
    document = json.loads(tracekit(*M4_MAX, "--batch", "2", "--json").out)
    bandwidth = {"value": 546e9, "source": "Apple's announcement", "confidence": "published"}
    assert document["chip"]["bandwidth"] == bandwidth | {"reason": ""}
    assert document["chip"]["fp16"]["value"] is None
    assert document["measured"] is None
    assert document["shape"]["batch"] == 2
    assert {row["name"]: row["value"] for row in document["launch"]}["partitions"] == 2
    assert document["bound"]["limit"] == "memory"
    moved = document["work"]["unique"] + document["work"]["written"]
    assert document["bound"]["seconds"] == pytest.approx(moved / 546e9, rel=1e-9)
    assert document["work"]["flops"] == 4 * 16 * 128 * 2 * 1024


def test_the_bandwidth_of_this_cpu_is_measured_and_labelled(
    tracekit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine of little cache: four times that of a server takes seconds to fill."""
    monkeypatch.setattr("tracekit.machine.triad.last_cache", lambda: 8 << 20)
    monkeypatch.setattr("tracekit.machine.triad._LEAST", 16 << 20)
    figures = rows(tracekit("bench", "chip", "--measure").out)
    value, unit = figures["measured"][0].split()
    assert unit == "GB/s"
    assert float(value) > 0.1
    assert figures["measured"][1].startswith("measured here: triad over 32")
    assert figures["median"][1] == "of 7 passes"


def test_senseless_shapes_are_refused(tracekit: Any) -> None:
    for arguments, words in (
        ("--gpu-cores 3", "--gpu-cores needs a chip that --name names"),
        ("--name M4 --measure", "--measure is of this machine"),
        ("--q-heads 3", "3 q heads cannot be shared out among 8 kv heads"),
        ("--head-dim 9000", "no head size 9000"),
        ("--model m --decode inf", "--decode must be a number of tokens a second, not inf"),
        ("--context 33", "33 tokens does not fill blocks of 32"),
    ):
        assert_error(tracekit("bench", "chip", *arguments.split()), 2, words)


def test_a_model_is_judged_by_the_memory_of_the_machine(tracekit: Any, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    line = ("bench", "chip", "--model", tmp_path, "--context", "1000", "--batch", "3")
    figures = rows(tracekit(*line).out)
    assert figures["KV cache"][0] == "1.46 GiB"
    assert figures["fits"][0].startswith(("yes: ", "no: "))
    assert "launch" not in figures, "batch and context are the model's"
    document = json.loads(tracekit(*line, "--json").out)
    assert document["model"]["parts"][1]["size"] == 2 * 4096 * 32 * 2 * 1000 * 3
    figures = rows(tracekit(*M4_MAX, "--model", tmp_path).out)
    assert figures["fits"][0].startswith("not available, because a chip comes with several sizes")
    assert_error(tracekit("bench", "chip", "--model", "none/none"), 3, "no config.json of none")


def test_another_chip_is_not_judged_by_this_mac(
    tracekit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"architecture": "applegpu_g16s", "max_recommended_working_set_size": 40 << 30}
    monkeypatch.setattr("mlx.core.metal.is_available", lambda: True)
    monkeypatch.setattr("mlx.core.device_info", lambda: facts)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    figures = rows(tracekit("bench", "chip", "--model", tmp_path).out)
    assert figures["fits"][1] == "40 GiB, the working set that Metal recommends, by MLX"
    assert figures["architecture"][0].startswith("applegpu_g16s")
    other = ("bench", "chip", "--name", "Apple M1", "--model", tmp_path)
    figures = rows(tracekit(*other).out)
    assert figures["fits"][0].startswith("not available, because a chip comes with several sizes")
    assert "architecture" not in figures
    assert json.loads(tracekit(*other, "--json").out)["architecture"] is None
