"""Physics before judgement: the recorded rows that cannot be, and the results they affect."""
