"""The limits of threadgroups, and advice if a pipeline holds fewer threads than were asked for."""

import re

# MLX raises ValueError with these words before it dispatches a custom kernel.
_REFUSED = re.compile(
    r"Thread group size \((\d+)\) is greater than\s+the maximum allowed threads per threadgroup "
    r"\((\d+)\)"
)
SIMDGROUP = 32
"""Threads of a SIMD-group on every Apple GPU."""
MOST_THREADS = 1024
"""The most threads of a threadgroup on every Apple GPU; a pipeline may hold fewer."""
MOST_BYTES = 32 * 1024
"""The most bytes of threadgroup memory of a threadgroup on every Apple GPU."""


def advise_threadgroup(message: str) -> str:
    """Return advice for a launch that MLX refused because of its threadgroup; "" for others.

    The limit depends on the registers and the memory that a kernel takes, and so on the chip.
    """
    refused = _REFUSED.search(message)
    if refused is None:
        return ""
    asked, most = map(int, refused.groups())
    fitting = max(most // SIMDGROUP * SIMDGROUP, 1)
    return (
        f"The pipeline of this kernel holds {most} threads of the {asked} on this GPU. Launch it "
        f"with at most {fitting}, keep fewer values per thread, or declare the kernel with "
        f"[[max_total_threads_per_threadgroup({asked})]], so that its registers are limited."
    )
