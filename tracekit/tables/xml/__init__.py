"""The readers of exports as XML: exact, streaming, hardened."""
