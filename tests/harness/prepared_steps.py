"""Steps of workloads, prepared in this process."""

from typing import Any

from tracekit.workload.workload import Step, find

DECODE = {
    "batch": 2, "q_heads": 4, "kv_heads": 2, "head_dim": 64, "block_size": 8, "max_blocks": 4,
    "active_blocks": 2,
}  # fmt: skip


def prepare_step(name: str, **values: Any) -> Step:
    workload = find(name)
    return workload.prepare(**workload.bind(values))
