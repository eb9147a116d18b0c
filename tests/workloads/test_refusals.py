"""Parameters that are out of bounds, or contradict each other, are one sentence."""

from typing import Any

import pytest

from prepared_steps import DECODE, prepared
from tracekit.base.errors import UsageError

KV = {
    "batch": 2, "q_heads": 4, "kv_heads": 2, "head_dim": 64, "prompt": 9, "max_tokens": 40,
}  # fmt: skip
HUGE = {"rows": 65536, "dims": 65536, "out_dims": 262144, "dtype": "float32"}
BASES = {"paged": DECODE, "sdpa": DECODE, "kv-cache": KV}


@pytest.mark.parametrize(
    ("workload", "changes", "sentence"),
    [
        ("paged", {"q_heads": 3}, "3 q heads cannot be shared out among 2"),
        ("paged", {"active_blocks": 5}, "cannot use 5 blocks of 4"),
        ("paged", {"max_blocks": 65536, "block_size": 1024, "batch": 4096}, "GB"),
        ("paged", {"batch": 0}, "--batch must be at least 1"),
        ("paged", {"dtype": "int8"}, "--dtype cannot be 'int8'"),
        ("paged", {"hd_tile": 12}, "There is no HD_TILE of 12"),
        ("paged", {"tg_size": 100}, "threadgroup of 100 threads"),
        ("paged", {"tg_size": 2048}, "--tg-size must be at most 1024"),
        ("paged", {"partitions": 0}, "--partitions must be at least 1"),
        ("paged", {"kernel": "barriers", "partitions": 2}, "nor partitions"),
        ("sdpa", {"q_heads": 3}, "3 q heads cannot be shared out among 2"),
        ("sdpa", {"active_blocks": 5}, "cannot use 5 blocks of 4"),
        ("sdpa", {"queries": 17}, "17 queries do not fit into a context of 16"),
        ("sdpa", {"queries": 0}, "--queries must be at least 1"),
        ("sdpa", {"layout": "SBHD"}, "--layout cannot be 'SBHD'"),
        ("paged-vs-sdpa", {"q_heads": 3}, "cannot be shared out among 8"),
        ("paged-vs-sdpa", {"active_blocks": 65}, "65 blocks of 64"),
        ("paged-vs-sdpa", {"against": "mine"}, "--against cannot be"),
        ("paged-vs-sdpa", {"order": "baab"}, "--order cannot be"),
        ("flash", {"q_heads": 3}, "cannot be shared out among 8"),
        ("flash", {"seq": 131072, "batch": 4096}, "The matrix of scores takes"),
        ("kv-cache", {"q_heads": 3}, "3 q heads cannot be shared out among 2"),
        ("kv-cache", {"max_tokens": 10}, "no step is left up to 10"),
        ("kv-cache", {"max_tokens": 2**20, "batch": 4096}, "GB"),
        ("kv-cache", {"kind": "round"}, "--kind cannot be 'round'"),
        ("kv-cache", {"window": 0}, "--window must be at least 1"),
        ("rmsnorm-linear", {"rows": 0}, "--rows must be at least 1"),
        ("rmsnorm-linear", HUGE, "GB"),
        ("churn", {"every": 0}, "--every must be at least 1"),
        ("churn", {"size": 7}, "--size must be at least 8"),
        ("bubbles", {"idle": 1.0}, "--idle must be at most 0.95"),
        ("bubbles", {"cause": "nap"}, "--cause cannot be 'nap'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    workload: str, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError) as caught:
        prepared(workload, **{**BASES.get(workload, {}), **changes})
    assert sentence in caught.value.message
