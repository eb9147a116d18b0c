"""Metal kernels on a CPU: rewritten to C++, compiled, launched, checked."""

from tracekit.msl.compile import compile_kernel, compile_kernels
from tracekit.msl.emulation import Launch, Log, emulation
from tracekit.msl.kernel import Kernel
from tracekit.msl.program import Program
from tracekit.msl.signature import Parameter
from tracekit.msl.statistics import Order, Statistics, Traffic

__all__ = [
    "Kernel",
    "Launch",
    "Log",
    "Order",
    "Parameter",
    "Program",
    "Statistics",
    "Traffic",
    "compile_kernel",
    "compile_kernels",
    "emulation",
]
