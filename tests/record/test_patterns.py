"""Lines that programs print: those that are known, and a user's."""

import pytest

from tracekit.base import UsageError
from tracekit.record.patterns import parse_pattern, read_lines, shipped_patterns
from tracekit.workload.workload import Measured

PROMPTS, TOKENS = "prompt_tokens_per_second", "generation_tokens_per_second"
# As people posted them: with the prefix of older versions, of newer ones, and as a server logs.
OLD = """\
llama_print_timings:        load time =   576.45 ms
llama_print_timings:      sample time =   283.10 ms /   400 runs   (    0.71 ms per token,  1412.91 tokens per second)
llama_print_timings: prompt eval time =   599.83 ms /    19 tokens (   31.57 ms per token,    31.68 tokens per second)
llama_print_timings:        eval time = 24513.59 ms /   399 runs   (   61.44 ms per token,    16.28 tokens per second)
llama_print_timings:       total time = 25431.49 ms
"""  # noqa: E501  as it is printed
EMBEDDING = """\
0.00.059.294 I llama_perf_context_print:        load time =      50.13 ms
0.00.059.296 I llama_perf_context_print: prompt eval time =       7.07 ms /     9 tokens (    0.79 ms per token,  1273.71 tokens per second)
0.00.059.297 I llama_perf_context_print:        eval time =       0.00 ms /     1 runs   (    0.00 ms per token,      inf tokens per second)
"""  # noqa: E501
SERVER = """\
slot print_timing: id  0 | task 0 |
prompt eval time =     100.00 ms /    50 tokens (    2.00 ms per token,   500.00 tokens per second)
       eval time =    1000.00 ms /    40 tokens (   25.00 ms per token,    40.00 tokens per second)
      total time =    1100.00 ms /    90 tokens
"""
AGAIN = SERVER.replace("   40.00 tokens per", "   44.00 tokens per")
THROUGHPUT = "Throughput: 6.81 requests/s, 8000.25 total tokens/s, 6278.02 output tokens/s\n"
SERVING = """\
============ Serving Benchmark Result ============
Successful requests:                     640
Benchmark duration (s):                  93.97
Request throughput (req/s):              6.81
Output token throughput (tok/s):         6278.02
Total Token throughput (tok/s):          8000.25
---------------Time to First Token----------------
Mean TTFT (ms):                          1924.07
Median TTFT (ms):                        342.39
P99 TTFT (ms):                           13652.77
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          16.50
Median TPOT (ms):                        15.25
P99 TPOT (ms):                           40.00
"""


@pytest.mark.parametrize(
    ("output", "values"),
    [
        (OLD, {PROMPTS: 31.68, TOKENS: 16.28}),
        (EMBEDDING, {PROMPTS: 1273.71}),
        (SERVER, {PROMPTS: 500.0, TOKENS: 40.0}),
        (SERVER + AGAIN, {PROMPTS: 500.0, TOKENS: 42.0}),
        (
            THROUGHPUT,
            {
                "total_tokens_per_second": 8000.25,
                "output_tokens_per_second": 6278.02,
            },
        ),
        (
            SERVING,
            {
                "output_tokens_per_second": 6278.02,
                "total_tokens_per_second": 8000.25,
                "median_ttft": 342.39e6,
                "p99_ttft": 13652.77e6,
                "median_tpot": 15.25e6,
                "p99_tpot": 40e6,
            },
        ),
        ("The eval time = is what I wait for, 3 tokens per second\n", {}),
        ("I said: Throughput: fine\n", {}),
    ],
    ids=["old", "embedding", "server", "twice", "throughput", "serving", "prose", "more prose"],
)
def test_lines_of_known_programs_are_read(output: str, values: dict[str, float]) -> None:
    results = read_lines(output, shipped_patterns())
    assert {name: result.value for name, result in results.items()} == pytest.approx(values)


def test_a_line_that_comes_again_is_a_sample() -> None:
    results = read_lines(SERVER + AGAIN, shipped_patterns())
    assert results[TOKENS] == Measured(42.0, "tokens/s", "higher", samples=(40.0, 44.0))
    assert read_lines(SERVER, shipped_patterns())[TOKENS].samples == ()


def test_every_known_pattern_names_the_file_that_prints_it() -> None:
    for pattern in shipped_patterns():
        assert "/" in pattern.source, pattern.name
        assert pattern.better in {"lower", "higher"}, pattern.name


FRAMES = "frame took 16 ms\nframe took 1,018.5 ms\nframe took 17 ms\n"


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (
            "frame:ms:lower:frame took ([0-9,.]+) ms",
            Measured(17e6, "ns", "lower", samples=(16e6, 1018.5e6, 17e6)),
        ),
        ("first:ms:lower:\\Aframe took ([0-9.]+)", Measured(16e6, "ns", "lower")),
        (
            "frame:frames:neither:^frame took (.*) ms$",
            Measured(17.0, "frames", "neither", samples=(16.0, 1018.5, 17.0)),
        ),
        ("used:MiB:lower:took ([0-9]+) ms", Measured(2.0**24, "bytes", "lower")),
        ("none:ms:lower:(nothing)", None),
        ("word:ms:lower:(frame)", None),
        ("colon:1/s:higher:a: ([0-9]+)", None),
    ],
)
def test_a_users_pattern_has_a_unit_and_a_direction(words: str, result: Measured | None) -> None:
    text = "frame took 16 ms\n" if words.startswith("used") else FRAMES
    (measurement,) = read_lines(text, [parse_pattern(words)]).values() or (None,)
    assert measurement == result


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("FPS ([0-9.]+)", "is not NAME:UNIT:lower"),
        ("a b:ms:lower:([0-9]+)", "is not NAME:UNIT:lower"),
        ("fps:1/s:more:FPS ([0-9.]+)", "Invalid direction 'more'"),
        ("fps:1/s:higher:FPS ([0-9.]+", "is not a regular expression"),
        ("fps:1/s:higher:FPS [0-9.]+", "has no group for the number"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(words: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_pattern(words)
