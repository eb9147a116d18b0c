"""Ten recordings with their labels, sealed before the rules they judge were written.

Nothing here imports tracekit. Nothing here is edited: `test_sealed.py` holds the digests.
"""
