"""What other programs print of their own speed, so that it stands beside the trace."""
