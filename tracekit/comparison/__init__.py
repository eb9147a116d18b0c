"""Runs against runs: the changes, their certainty, and the page that shows them.

Other rooms import from here; `__init__.pyi` lists the names and the modules that they come from.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
