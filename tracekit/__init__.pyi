from . import pipeline as pipeline
from .app.functions import analyze as analyze
from .app.functions import capture as capture
from .app.functions import compare as compare
from .app.functions import open as open  # noqa: A004
from .app.functions import query as query
from .app.functions import report as report
from .run import Run as Run
from .tables import read_table as read_table
