"""Caches of keys and values: growing, sliding, paged; and who holds which block."""
