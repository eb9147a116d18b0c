"""Metal text, as MLX generates it, into CUDA text that nvcc compiles.

What it does not know, nvcc refuses: it knows what the kernels of kernels/ use, no more.
"""

import re
from dataclasses import dataclass

from tracekit.lab.msl.emulation import Generated

BUILTINS = {
    "thread_position_in_threadgroup": "make_uint3(threadIdx.x, threadIdx.y, threadIdx.z)",
    "threadgroup_position_in_grid": "make_uint3(blockIdx.x, blockIdx.y, blockIdx.z)",
    "threadgroups_per_grid": "make_uint3(gridDim.x, gridDim.y, gridDim.z)",
    "thread_index_in_simdgroup": "thread_index_in_threadgroup_() & 31",
    "simdgroup_index_in_threadgroup": "simdgroup_index_in_threadgroup_()",
}
REGISTERS_OF_A_CORE = 65536  # of a multiprocessor of sm_90
MOST_REGISTERS = 128
"""Registers of a thread that nvcc may use: those of an M1, of which 768 threads share a core."""
_PARAMETER = re.compile(r"^(?P<type>.*?)(?P<name>\w+)\s*\[\[(?P<mark>.*?)\]\]$", re.DOTALL)


@dataclass(frozen=True)
class Translated:
    """CUDA text of one kernel, and how its entry is called.

    Attributes:
        text: A namespace of the entry's name with the kernel, and the entry.
        entry: Name of the `extern "C"` function.
        arguments: Names of the arguments: arrays as pointers, scalars by value.
    """

    text: str
    entry: str
    arguments: tuple[str, ...]


def translate(kernel: Generated) -> Translated:
    """Translate one kernel; its threadgroup and `MOST_REGISTERS` bound its registers."""
    text = re.sub(r"//[^\n]*", "", kernel.text)
    text = re.sub(r"template \[\[host_name.*?;\n", "", text, flags=re.DOTALL)
    head, listed, rest = _signature(text, kernel.function)
    parameters = [_PARAMETER.match(one.strip()) for one in listed.split(",")]
    matched = [one for one in parameters if one]
    if len(matched) != len(parameters):
        raise ValueError(f"The parameters of {kernel.function} are not understood: {listed}")
    plain = ", ".join(f"{one['type']}{one['name']}" for one in matched)
    body = _words(f"{head}({plain}){rest}")
    threads = kernel.threadgroup[0] * kernel.threadgroup[1] * kernel.threadgroup[2]
    entry = _entry(kernel, matched, threads)
    names = tuple(one["name"] for one in matched if one["mark"].startswith("buffer"))
    wrapped = f"namespace ns_{kernel.function} {{\n{body}\n{entry}\n}}\n"
    return Translated(wrapped, kernel.function, names)


def _signature(text: str, function: str) -> tuple[str, str, str]:
    start = text.index(f"void {function}(") + len(f"void {function}")
    end = text.index(") {", start)
    return text[:start], text[start + 1 : end], text[end + 1 :]


def _words(text: str) -> str:
    text = text.replace('"clang loop unroll(full)"', '"unroll"')
    text = text.replace("[[kernel]] void", "__device__ __forceinline__ void")
    text = re.sub(r"\binline\b(?! void custom)", "__device__ inline", text)
    text = text.replace("__device__ __forceinline__ __device__ inline", "__device__ inline")
    text = re.sub(r"^threadgroup (\w+ \w+\[[^;]*;)", r"__shared__ \1", text, flags=re.MULTILINE)
    text = re.sub(r"\b(?:constant constexpr|constexpr constant)\b", "constexpr", text)
    return re.sub(r"\b(?:device|constant|thread|threadgroup)\b(?!\()", "", text)


def _entry(kernel: Generated, parameters: list[re.Match[str]], threads: int) -> str:
    given: list[str] = []
    passed: list[str] = []
    for one in parameters:
        if one["mark"].startswith("buffer"):
            given.append(f"{_words(one['type']).replace('&', '')} {one['name']}")
            passed.append(one["name"])
        else:
            passed.append(BUILTINS[one["mark"]])
    template = f"<{kernel.template}>" if kernel.template else ""
    resident = max(1, REGISTERS_OF_A_CORE // MOST_REGISTERS // threads)
    return (
        f'extern "C" __global__ void __launch_bounds__({threads}, {resident}) '
        f"entry_{kernel.function}("
        f"{', '.join(given)}) {{\n  {kernel.function}{template}({', '.join(passed)});\n}}"
    )
