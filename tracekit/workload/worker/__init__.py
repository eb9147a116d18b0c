"""The child process that a recorder launches: prepare, warm up, step, mark.

`python -m tracekit.workload.worker SPEC.json` runs the workload that the file describes. It
writes its phases and steps to a journal, so that nothing that was measured can be lost.
"""
