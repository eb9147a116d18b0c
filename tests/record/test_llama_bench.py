"""What llama-bench prints of its speed, in each of its formats."""

import json
from typing import Any

import pytest

from tracekit.record.llama_bench import read_llama_bench
from tracekit.workload.workload import Measured

PROMPT: dict[str, Any] = {
    "n_threads": 12, "n_prompt": 512, "n_gen": 0, "n_depth": 0, "test_time": "2026-04-24T11:58:50Z",
    "avg_ts": 711.25, "stddev_ts": 14.5, "samples_ts": [712.5, 711.25, 690.0],
}  # fmt: skip
DECODE = {**PROMPT, "n_prompt": 0, "n_gen": 128, "avg_ts": 61.5, "samples_ts": [61.0, 62.0]}


def text(*tests: dict[str, Any]) -> str:
    return json.dumps(list(tests), indent=2) + "\n"


WHOLE = text(PROMPT, DECODE)


def test_tests_are_called_as_llama_bench_calls_them() -> None:
    cases = {
        text(DECODE): ["tg128"],
        text({**DECODE, "n_prompt": 512}): ["pp512+tg128"],
        text({**DECODE, "n_depth": 4096}): ["tg128@d4096"],
        "".join(json.dumps(test) + "\n" for test in (PROMPT, DECODE)): ["pp512", "tg128"],
        text(PROMPT, {**PROMPT, "n_threads": 4}): ["pp512_n_threads=12", "pp512_n_threads=4"],
        text(PROMPT, {**PROMPT, "avg_ts": 1.0}): ["pp512", "pp512_2"],
        text(PROMPT, {**DECODE, "n_threads": 4}): ["pp512", "tg128"],
        WHOLE[: WHOLE.index('"n_gen": 128')]: ["pp512"],  # cut short
        f"warming up [1/2]\n{WHOLE}done\n": ["pp512", "tg128"],
        "| model | size | t/s |\n| --- | --- | --- |\n| a | 1 B | 54.10 ± 0.40 |\n": [],
        text({**PROMPT, "avg_ts": "fast"}): [],
        "[" * 100 + "\n": [],
    }
    for output, names in cases.items():
        speed_names = [name for name in read_llama_bench(output) if name.endswith("_per_second")]
        assert speed_names == [f"{name}_tokens_per_second" for name in names], output


def test_a_test_has_its_mean_its_samples_and_their_deviation() -> None:
    samples = (712.5, 711.25, 690.0)
    assert read_llama_bench(text(PROMPT)) == {
        "pp512_tokens_per_second": Measured(
            711.25, "tokens/s", "higher", samples=samples, deviation=14.5
        ),
        "pp512_tokens_per_second_stddev": Measured(14.5, "tokens/s", "neither"),
    }


# As its README shows it, before and since a test's name lost its space.
TABLE = """\
ggml_metal_init: allocating
| model               |       size |     params | backend    | threads |          test |                  t/s |
| ------------------- | ---------: | ---------: | ---------- | ------: | ------------: | -------------------: |
| qwen2 1.5B Q4_0     | 885.97 MiB |     1.54 B | Metal,BLAS |      16 |         pp512 |      5765.41 ± 20.55 |
| qwen2 1.5B Q4_0     | 885.97 MiB |     1.54 B | Metal,BLAS |      16 |         tg128 |        197.71 ± 0.81 |

build: 3cf5e2f (1234)
"""  # noqa: E501  as it is printed
CSV = (
    "build_commit,backends,n_prompt,n_gen,n_depth,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts\n"
    '"3cf5e2f","Metal,BLAS","512","0","0","2026-04-24T11:58:50Z","1","1","711.25","14.5"\n'
    '"3cf5e2f","Metal,BLAS","0","128","4096","2026-04-24T11:58:50Z","1","1","61.5","0.5"\n'
    "done\n"
)


def speed(value: float, deviation: float) -> Measured:
    return Measured(value, "tokens/s", "higher", deviation=deviation)


@pytest.mark.parametrize(
    ("output", "tests"),
    [
        (TABLE, {"pp512": speed(5765.41, 20.55), "tg128": speed(197.71, 0.81)}),
        (
            TABLE.replace("pp512", "pp 512"),
            {"pp512": speed(5765.41, 20.55), "tg128": speed(197.71, 0.81)},
        ),
        (
            TABLE.replace("        tg128", "tg128 @ d4096"),
            {"pp512": speed(5765.41, 20.55), "tg128@d4096": speed(197.71, 0.81)},
        ),
        (
            TABLE.replace("16 |         tg128", " 8 |         pp512"),
            {"pp512_threads=16": speed(5765.41, 20.55), "pp512_threads=8": speed(197.71, 0.81)},
        ),
        (CSV, {"pp512": speed(711.25, 14.5), "tg128@d4096": speed(61.5, 0.5)}),
        ("| test | t/s |\n|---|---|\n| tg128 | failed |\n", {}),
    ],
    ids=["table", "older table", "depth", "threads", "csv", "no number"],
)
def test_tables_are_read_with_their_deviations(output: str, tests: dict[str, Measured]) -> None:
    results = read_llama_bench(output)
    speeds = {
        name: measurement for name, measurement in results.items() if name.endswith("_per_second")
    }
    assert speeds == {
        f"{name}_tokens_per_second": measurement for name, measurement in tests.items()
    }
