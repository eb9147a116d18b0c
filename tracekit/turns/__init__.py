"""The child process that waits for its turn: a warmed-up workload, stepped when told to."""
