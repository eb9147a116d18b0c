"""What the kernels of kernels/ must do: a file for each, called as the kernel is."""
