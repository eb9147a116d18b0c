"""Metal kernels proven and measured without Instruments."""
