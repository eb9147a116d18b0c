"""Physics before judgement: which recorded rows cannot be, and what they make unsure."""
