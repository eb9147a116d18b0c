"""The commands: each reads arguments, calls one stage, and says what happened."""
