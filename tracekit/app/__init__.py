"""Any input as a run, and the functions that commands and Python share.

Faces import from here; `__init__.pyi` lists the names and the modules that they come from.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
