"""Physics before judgement: impossible rows of the recording, and the results they affect."""
