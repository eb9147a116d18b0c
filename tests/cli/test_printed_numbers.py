"""Two builds of one program that print their speed, or nothing: captured, or measured in turns.

Stand-ins print what llama-bench and others print; what they print was taken from these.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_error

pytestmark = pytest.mark.processes

TG, GENERATION = "tg128_tokens_per_second", "generation_tokens_per_second"


def bench(speed: float) -> dict[str, Any]:
    samples = [speed - 0.4, speed, speed + 0.4]
    test = {"n_prompt": 0, "n_gen": 128, "n_depth": 0, "n_threads": 8}
    return {**test, "avg_ts": speed, "stddev_ts": 0.4, "samples_ts": samples}


def table(speed: float) -> str:
    return (
        "| model         |     size | params | backend | threads |  test |          t/s |\n"
        "| ------------- | -------: | -----: | ------- | ------: | ----: | -----------: |\n"
        f"| llama 7B Q4_0 | 3.56 GiB | 6.74 B | Metal   |       8 | tg128 | {speed:.2f} ± 0.40 |\n"
        "\nbuild: 3cf5e2f (1234)\n"
    )


def rows(speed: float) -> str:
    fields = "build_commit,n_prompt,n_gen,n_depth,avg_ts,stddev_ts"
    return f'{fields}\n"3cf5e2f","0","128","0","{speed}","0.400000"\n'


def perf(speed: float) -> str:
    head = "llama_perf_context_print:        eval time"
    per_token = f"{1000 / speed:8.2f} ms per token, {speed:8.2f} tokens per second"
    return f"{head} = {100_000 / speed:10.2f} ms /   100 runs   ({per_token})\n"


def format_hyperfine(speed: float) -> str:
    seconds = [2 / (speed + apart) for apart in (0.4, 0.0, -0.4)]
    run = {"command": "x", "mean": seconds[1], "stddev": 0.0003, "times": seconds}
    return json.dumps({"results": [run]}, indent=2)


FORMATS: dict[str, Callable[[float], str]] = {
    "json": lambda speed: json.dumps([bench(speed)], indent=2) + "\n",
    "jsonl": lambda speed: json.dumps(bench(speed)) + "\n",
    "csv": rows,
    "markdown": table,
    "hyperfine": format_hyperfine,
    "several perf lines": lambda speed: perf(speed - 0.4) + perf(speed) + perf(speed + 0.4),
    "one perf line": perf,
    "mlx_lm": lambda speed: f"Generation: 128 tokens, {speed:.3f} tokens-per-sec\n",
    "throughput": lambda speed: (
        f"Throughput: {speed / 100:.4f} requests/s, {4 * speed:.2f} total tokens/s, "
        f"{speed:.2f} output tokens/s\n"
    ),
    "serving": lambda speed: f"Output token throughput (tok/s):         {speed:.2f}     \n",
}
METRICS = {
    **dict.fromkeys(("json", "jsonl", "csv", "markdown"), TG),
    "hyperfine": "command_time",
    **dict.fromkeys(("several perf lines", "one perf line", "mlx_lm"), GENERATION),
    **dict.fromkeys(("throughput", "serving"), "output_tokens_per_second"),
}
ON_STDERR = {"several perf lines", "one perf line"}
SPREAD = [*FORMATS][: [*FORMATS].index("one perf line")]
"""The formats of which one run shows how it varies."""


def build(folder: Path, name: str, text: str, *, errors: bool = False, prelude: str = "") -> Path:
    """Write a program that prints a text, on standard error if `errors`; return it."""
    printed, program = folder / f"{name}.txt", folder / name
    printed.write_text(text)
    program.write_text(f"#!/bin/sh\n{prelude}\ncat {printed}{' >&2' * errors}\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def builds(tmp_path: Path) -> Callable[[str], tuple[Path, Path]]:
    """Write an old build, of 54.1 tokens a second, and a new one, of 60.1, by their format."""

    def write(name: str) -> tuple[Path, Path]:
        errors, text = name in ON_STDERR, FORMATS[name]
        return (
            build(tmp_path, "main-old", text(54.1), errors=errors),
            build(tmp_path, "main-new", text(60.1), errors=errors),
        )

    return write


@pytest.fixture
def captured(tmp_path: Path, tracekit: Any) -> Callable[..., Path]:
    """Capture a program with the host recorder; return the run's folder."""

    def capture(program: Path, name: str, *options: str) -> Path:
        folder = tmp_path / name
        words = ("--recorder", "host", "--telemetry", "off", "--output", folder, *options)
        result = tracekit("capture", *words, "--", program)
        assert result.code == 0, result.err
        return folder

    return capture


def deciding(compared: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {change["metric"]: change for change in compared["changes"] if change["deciding"]}


@pytest.mark.parametrize("name", SPREAD)
def test_captures_of_two_builds_are_decided_by_the_samples_that_they_print(
    name: str, builds: Any, captured: Any, tracekit: Any
) -> None:
    old, new = builds(name)
    sides = captured(old, "old"), captured(new, "new")
    result = tracekit("compare", *sides, "--json")
    assert result.code == 0, result.err
    compared = json.loads(result.out)
    (change,) = deciding(compared).values()
    assert (change["metric"], change["verdict"]) == (METRICS[name], "better")
    if name == "hyperfine":
        assert change["change"] == pytest.approx(54.1 / 60.1 - 1, abs=1e-3)
        assert change["high"] < -0.02
    else:
        assert change["change"] == pytest.approx(60.1 / 54.1 - 1, abs=1e-3)
        assert 0.02 < change["low"] < 0.05
    # The machine of a test may be busy, which is said and makes a whole comparison unclear.
    assert compared["reason"].startswith(f"{METRICS[name]} is ")
    plain_result = tracekit("compare", *sides)
    assert "these runs have no steps, so their own results do" in plain_result.err


def test_samples_are_in_the_result(builds: Any, captured: Any) -> None:
    result = json.loads((captured(builds("json")[0], "old") / "result.json").read_text())
    (speed,) = [row for row in result["results"] if row["name"] == TG]
    assert speed["value"] == 54.1
    assert speed["samples"] == pytest.approx([53.7, 54.1, 54.5])
    assert speed["deviation"] == 0.4


def test_three_and_three_captures_are_decided_as_their_rows_say(
    tmp_path: Path, captured: Any, tracekit: Any
) -> None:
    sides: dict[str, list[Path]] = {"old": [], "new": []}
    for number in range(3):
        for side, speed in (("old", 54.1), ("new", 60.1)):
            text = FORMATS["json"](speed + 0.1 * number)
            program = build(tmp_path, f"main-{side}", text)
            sides[side].append(captured(program, f"{side}-{number}"))
    result = tracekit("compare", *sides["old"], "vs", *sides["new"], "--json")
    compared = json.loads(result.out)
    assert compared["reason"].startswith(f"{TG} is higher by ")
    (change,) = deciding(compared).values()
    assert (change["metric"], change["verdict"]) == (TG, "better")
    assert 0 < change["low"] < 0.111 < change["high"] < 0.2


@pytest.mark.parametrize("name", FORMATS)
def test_ab_takes_programs_as_sides(name: str, builds: Any, tracekit: Any) -> None:
    old, new = builds(name)
    result = tracekit("bench", "ab", "--any-state", "--json", "--exit-code", "--", old, "--", new)
    assert result.code == 0, result.err
    compared = json.loads(result.out)
    assert compared["verdict"] == "better"
    assert (compared["before"], compared["after"]) == ([str(old)], [str(new)])
    assert METRICS[name] in deciding(compared)
    assert "wall_time" not in deciding(compared)
    back = tracekit("bench", "ab", "--any-state", "--exit-code", "--", new, "--", old)
    assert back.code == 1, back.err


def test_a_user_names_printed_numbers(tmp_path: Path, captured: Any, tracekit: Any) -> None:
    read = "--read", "frame:ms:lower:frame took ([0-9.]+) ms"
    texts = ["".join(f"frame took {ms + part} ms\n" for part in (0, 0.1, 0.2)) for ms in (16, 20)]
    old, new = (build(tmp_path, f"game-{number}", text) for number, text in enumerate(texts))
    sides = [captured(program, f"run-{program.name}", *read) for program in (old, new)]
    (change,) = deciding(json.loads(tracekit("compare", *sides, "--json").out)).values()
    assert (change["metric"], change["verdict"]) == ("frame", "worse")
    assert (change["before"], change["after"]) == pytest.approx((16.1e6, 20.1e6))
    result = tracekit("bench", "ab", "--any-state", "--json", *read, "--", old, "--", new)
    assert deciding(json.loads(result.out))["frame"]["verdict"] == "worse"
    assert json.loads(result.out)["verdict"] == "worse"


def test_a_change_that_is_not_certain_to_be_beyond_the_limit_is_measured_in_a_second_session(
    tmp_path: Path, tracekit: Any
) -> None:
    count = tmp_path / "runs"
    turns = (
        f"n=$(cat {count} 2>/dev/null || echo 0); echo $((n + 1)) > {count}; "
        'set -- 1040 1060 1020 1050 1030 1045; shift $((n % 6)); echo "frame took $1 ms"'
    )
    old = build(tmp_path, "old", "frame took 1000 ms\n")
    new = build(tmp_path, "new", "", prelude=turns)
    read = "--read", "frame:ms:lower:frame took ([0-9.]+) ms"
    limit_options = "--within", "0.05"  # so that six pairs are narrow enough, from 2 to 6 % slower
    result = tracekit(
        "bench", "ab", "--any-state", "--json", *limit_options, *read, "--", old, "--", new
    )
    compared = json.loads(result.out)
    assert compared["verdict"] == "worse"
    assert compared["notes"][0].startswith("12 of 12 pairs count, in two sessions;")
    assert count.read_text() == "13\n"  # one of them to warm up


def test_programs_that_print_nothing_are_compared_by_wall_time(
    tmp_path: Path, captured: Any, tracekit: Any
) -> None:
    old = build(tmp_path, "main-old", "", prelude="sleep 0.4")
    new = build(tmp_path, "main-new", "", prelude="sleep 0.1")
    result = tracekit("bench", "ab", "--any-state", "--within", "1", "--", old, "--", new)
    assert result.code == 0, result.err
    assert result.out.startswith("Better: wall_time is faster by ")
    assert "the time from start to exit, because no printed number is read" in result.err
    single = json.loads(tracekit("compare", captured(old, "a"), captured(old, "b"), "--json").out)
    assert single["verdict"] == "unclear"
    assert [*deciding(single)] == ["wall_time"]
    assert "it was measured once" in single["reason"]


def test_data_that_a_program_prints_are_not_searched_for_numbers(
    tmp_path: Path, tracekit: Any
) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"eval time = 1 ms / 1 runs ( 1.0 ms per token, 9.0 tokens per second)\n\0")
    program = tmp_path / "archive"
    program.write_text(f"#!/bin/sh\ncat {data}\n")
    program.chmod(0o755)
    result = tracekit(
        "bench", "ab", "--any-state", "--within", "1", "--json", "--", program, "--", program
    )
    assert [*deciding(json.loads(result.out))] == ["wall_time"]


def test_invalid_pairs_of_programs_are_refused(
    tmp_path: Path, tracekit: Any, subtests: pytest.Subtests
) -> None:
    good = str(build(tmp_path, "good", ""))
    bad = str(build(tmp_path, "bad", "no model\n", errors=True, prelude="trap 'exit 3' EXIT"))
    form = "tracekit bench ab -- ./main-old ARGS -- ./main-new ARGS"
    for code, words, *messages in (
        (2, (good, "--", good), "is a path, not a workload", form),
        (2, (good, "54", "--", good), "'54' is not NAME=VALUE", form),
        (2, ("--", good, "--"), "Name two programs", form),
        (2, ("--", good, "--", good, "--", good), "Name two programs", form),
        (2, ("--", good, "--", "./none"), "./none cannot be started"),
        (2, ("--read", "fps", "--", good, "--", good), "is not NAME:UNIT"),
        (2, ("--read", "a:s:lower:(.)", "spin", "--", "spin"), "--read is for programs"),
        (3, ("--", good, "--", bad), "bad ended with exit code 3", "no model"),
    ):
        with subtests.test(" ".join(words)):
            assert_error(tracekit("bench", "ab", "--any-state", *words), code, *messages)
    result = tracekit("record", "--read", "a:s:lower:(.)", "--attach", "1")
    assert_error(result, 2, "--read is for a program after `--`")
