"""An open-loop harness: a schedule of requests, and an engine that serves it tick by tick."""
