"""GPU frame capture: a few steps of a workload, kept for Xcode to replay and to look into.

No recorder takes part and nothing is timed: capturing changes how long everything takes.
"""
