"""The rhythm of the workload's steps: how even it is, which steps stand out, and why."""
