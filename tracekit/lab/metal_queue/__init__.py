"""GPU time of single kernels: a Metal queue of our own, beside MLX's, through PyObjC."""
