"""What a workload is, and the process that runs it step by step."""
