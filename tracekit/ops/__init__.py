"""The MLX operations that workloads run: attention, norms, caches, serving."""
