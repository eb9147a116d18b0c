"""A result in, one page out; charts and the timeline are drawn here.

Other rooms import from here; `__init__.pyi` lists the names and the modules that they come from.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
