"""Parameters that workloads share: the same words, types and bounds in each."""

from typing import Annotated, Any, get_args, get_origin

import pytest

from tracekit.base.errors import UsageError
from tracekit.workload import parameters
from tracekit.workload.workload import find

SHARED = {name: value for name, value in vars(parameters).items() if get_origin(value) is Annotated}
DECODE = ("paged", "sdpa", "paged-vs-sdpa")
SHAPE = (
    "batch q_heads kv_heads head_dim block_size max_blocks active_blocks dtype ragged seed"
).split()


@pytest.mark.parametrize("name", SHARED)
def test_each_explains_itself(name: str) -> None:
    _, option = get_args(SHARED[name])
    assert option.help
    assert option.help.endswith(".")
    assert option.help[0].isupper()


@pytest.mark.parametrize("name", SHAPE)
def test_shapes_are_chosen_alike_wherever_attention_decodes(name: str) -> None:
    first, *others = (find(workload).parameters[name] for workload in DECODE)
    for other in others:
        assert (other.annotation, other.default) == (first.annotation, first.default)


@pytest.mark.parametrize(
    ("workload", "given", "sentence"),
    [
        ("sdpa", {"batch": 4097}, "--batch must be at most 4096; it is 4097."),
        ("paged", {"head_dim": 257}, "--head-dim must be at most 256; it is 257."),
        ("flash", {"kv_heads": 0}, "--kv-heads must be at least 1; it is 0."),
        ("paged-vs-sdpa", {"seed": -1}, "--seed must be at least 0; it is -1."),
        ("paged-vs-sdpa", {"block_size": 2000}, "--block-size must be at most 1024; it is 2000."),
    ],
)
def test_bounds_hold_in_every_workload(workload: str, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(workload).bind(given)
    assert caught.value.message == sentence


@pytest.mark.parametrize(("text", "value"), [("16", 16), (16, 16), ("1", 1)])
def test_numbers_come_as_a_command_line_knows_them(text: object, value: int) -> None:
    assert find("sdpa").bind({"batch": text}) == {"batch": value}
