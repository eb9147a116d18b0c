"""Starts programs that must not outlive tracekit, even if it is killed.

No signal handler survives SIGKILL, and neither macOS nor Linux share a way to tie one process's
life to another's. So a second process of ours, the guardian, holds the other end of a socket: when
that end is closed without a word, tracekit is gone, and what it left running is stopped in order.
"""
