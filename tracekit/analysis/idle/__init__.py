"""Why the device of the target had nothing to do: the idle time, cut into pieces by cause."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["cause", "listing", "sums"]
)
