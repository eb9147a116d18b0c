"""An open-loop harness: a schedule of requests, and an engine that serves it tick by tick."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["load", "server"])
