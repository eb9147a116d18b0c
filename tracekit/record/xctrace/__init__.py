"""All knowledge of Apple's command line; no other package starts it."""
