from . import server as server
