from . import checking as checking
from . import demo as demo
from . import functions as functions
from . import gating as gating
from . import runs as runs
from . import summaries as summaries
from . import summary as summary
from .symptoms import checklist as checklist
