"""RMSNorm and the linear layer after it: fused, separate, their reference and traffic."""
