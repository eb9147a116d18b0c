"""All that tracekit knows of Apple's command line; nothing else starts it."""
