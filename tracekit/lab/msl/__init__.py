"""Metal kernels on a CPU: rewritten to C++, compiled, launched, checked."""

from tracekit.lab.msl.compile import compile_kernel, compile_kernels
from tracekit.lab.msl.emulation import Launch, Log, emulation
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.program import Program
from tracekit.lab.msl.signature import Parameter
from tracekit.lab.msl.statistics import Order, Statistics, Traffic

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
