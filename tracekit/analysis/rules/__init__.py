"""All rules, in the order in which checks are listed."""

from tracekit.analysis.rule import Rule

RULES = {
    name: Rule(name)
    for name in (
        "command-buffer-errors",
        "capture-empty",
        "gpu-contended",
        "pipeline-churn",
        "shader-spills",
        "bubbles",
        "shared-queue",
        "late-start",
        "shallow-queue",
        "frequent-readback",
        "frequent-command-buffers",
        "tiny-encoders",
        "host-bound",
        "left-out-time",
        "irregular-cadence",
        "step-spikes",
        "performance-cliff",
        "low-occupancy",
        "memory-bound",
        "compute-bound",
        "other-limiter",
        "roofline-distance",
        "cache-resident",
        "metadata-per-layer",
        "scatter-encoder",
        "gather-share",
        "unfused-attention",
        "avoidable-kernels",
        "blit-copies",
        "serial-prefill",
        "capture-truncated",
        "impossible-rows",
        "schema-drift",
        "trace-overhead",
        "gpu-downclocked",
        "thermal-pressure",
        "memory-growth",
        "lost-residency",
        "hot-allocations",
    )
}
