"""Record, read and judge Metal traces.

import tracekit

run = tracekit.open("mine.trace")  # or a run, a zip file, exports, a folder of exports
run.tables["gpu_intervals"]
run.result.metric("gpu_busy")
tracekit.report("mine.trace")  # the path of its page
tracekit.compare("before.trace", "after.trace")
tracekit.query("select * from gpu_intervals", "mine.trace")
frame = tracekit.read_table("metal-gpu-intervals.xml")

`__init__.pyi` lists the names and the modules that they come from. A name is imported when it is
first used, so that the command line starts at once.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
