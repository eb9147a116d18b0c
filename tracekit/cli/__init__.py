"""The commands: each reads arguments, calls one stage, and reports the outcome."""
