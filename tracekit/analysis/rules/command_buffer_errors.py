"""`command-buffer-errors`: command buffers ended with an error."""

import pandas as pd

from tracekit.analysis.rule import Findings, Severity, finding, moments
from tracekit.analysis.scope import Device

_KINDS = {
    1: "internal error",
    2: "timeout",
    3: "page fault",
    4: "access revoked",
    7: "not permitted",
    8: "out of memory",
    9: "invalid resource",
    10: "memoryless storage too small",
    11: "device removed",
    12: "stack overflow",
}
"""Names of MTLCommandBufferError. That the trace means these codes was never seen."""
_ADVICE = {
    2: (
        "A command buffer ran for too long, and the system ended it: put less work into one, by "
        "smaller batches or prefills, or by lower MLX_MAX_OPS_PER_BUFFER and "
        "MLX_MAX_MB_PER_BUFFER, and look for kernels that never end."
    ),
    8: (
        "The GPU had no memory left for a command buffer: a smaller model, batch or context, a "
        "lower mx.set_cache_limit, a higher wired limit, and fewer other programs."
    ),
}
_OTHERS = (
    "Look at the error that the program gets (MTLCommandBuffer.error), and run it with Metal's "
    "validation (MTL_DEBUG_LAYER=1, MTL_SHADER_VALIDATION=1)."
)


def command_buffer_errors(
    command_buffer_errors: pd.DataFrame, device: Device, submissions: pd.DataFrame | None
) -> Findings:
    """Command buffers ended with an error.

    What it looks for:
        Rows of errors of command buffers that the target committed or that ran for it, but those
        of code 0, which stands for no error. The table names no process: an error of a command
        buffer that belongs to nobody known counts too. Codes are read as those of
        MTLCommandBufferError; no recording with rows was ever seen that would confirm it.

    Why it matters:
        What such a command buffer computed is not there, and what was measured of it means nothing.

    What to do:
        Timeouts: less work in a command buffer. Out of memory: smaller models, batches, contexts.

    When it abstains:
        When errors of command buffers (metal-command-buffer-error) were not recorded, and when the
        target is not known.
    """
    errors = command_buffer_errors[command_buffer_errors["error"].fillna(-1) != 0]
    known, ours = (
        set(frame["command_buffer"].dropna()) for frame in (device.intervals, device.own)
    )
    if submissions is not None:
        known |= set(submissions["command_buffer"].dropna())
        ours |= set(submissions.loc[submissions["target"], "command_buffer"].dropna())
    mine = errors[errors["command_buffer"].isin(ours) | ~errors["command_buffer"].isin(known)]
    if mine.empty:
        return
    codes = mine["error"].fillna(-1).astype(int)
    counts = codes.value_counts(sort=True)
    words = ", ".join(
        f"{_name(code)} {number:,} times"
        for code, number in zip(counts.index.astype(int), counts, strict=True)
    )
    said = [advice for code, advice in _ADVICE.items() if (codes == code).any()]
    yield finding(
        severity=Severity.ERROR,
        message=f"{len(mine):,} command buffers ended with an error: {words}. "
        "Codes are read as those of MTLCommandBufferError.",
        advice=" ".join(said) or _OTHERS,
        evidence=moments("command_buffer_errors", mine["time"], map(_name, codes)),
    )


def _name(code: int) -> str:
    if code < 0:
        return "an error without a code"
    return f"{_KINDS.get(code, 'unknown')} (code {code})"
