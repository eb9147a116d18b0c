"""Nights at a fixed time of day: LaunchAgent, systemd timer, cron; one at a time."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["installation"])
