"""A second process that stops what a recording started if tracekit itself is ended.

No signal handler survives SIGKILL, and neither macOS nor Linux share a way to tie one process's
life to another's. So a small process of ours holds the other end of a socket: when that end is
closed without a word, tracekit is gone, and what it left running is stopped in good order.
"""
