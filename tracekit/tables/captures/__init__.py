"""GPU frame captures (`.gputrace`), read from their own bytes, without Apple's tools.

`open_capture` returns a `FrameCapture`: calls, objects, compiled code and contents. The tables of a
run or a bundle are made of it. Layout: docs/explanation/gpu-frame-captures.md. `__init__.pyi` lists
the names for other modules; their readers are imported when a capture is opened.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
