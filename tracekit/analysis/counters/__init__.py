"""GPU counters: what they mean, their samples while the target ran, what they say is busy."""
