"""Explain a threadgroup that has more threads than the pipeline of its kernel holds."""

import re

# MLX raises ValueError with these words before it dispatches a custom kernel.
_REFUSED = re.compile(
    r"Thread group size \((\d+)\) is greater than\s+the maximum allowed threads per threadgroup "
    r"\((\d+)\)"
)
_SIMDGROUP = 32  # threads, on every Apple GPU


def advise_threadgroup(message: str) -> str:
    """Return advice for a launch that MLX refused because of its threadgroup; "" for others.

    The limit depends on the registers and the memory that a kernel takes, and so on the chip.
    """
    refused = _REFUSED.search(message)
    if refused is None:
        return ""
    asked, most = map(int, refused.groups())
    fitting = max(most // _SIMDGROUP * _SIMDGROUP, 1)
    return (
        f"The pipeline of this kernel holds {most} threads of the {asked} on this GPU. Launch it "
        f"with at most {fitting}, keep fewer values per thread, or declare the kernel with "
        f"[[max_total_threads_per_threadgroup({asked})]], so that its registers are limited."
    )
