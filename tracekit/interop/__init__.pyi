from .convert import FORMATS as FORMATS
from .convert import convert_run as convert_run
