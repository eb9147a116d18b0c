"""Record a workload, or bring in what somebody else recorded."""
