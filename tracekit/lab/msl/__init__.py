"""Metal kernels on a CPU: rewritten to C++, compiled, launched, checked."""
