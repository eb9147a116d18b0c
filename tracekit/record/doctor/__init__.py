"""Whether this machine is ready to record: facts, verdicts, and the results of earlier probes."""
