"""Room on the disk: what of old runs may go, and what may not."""
