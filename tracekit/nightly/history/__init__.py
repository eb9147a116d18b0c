"""The history: every night that was kept, and the decisions about it."""
