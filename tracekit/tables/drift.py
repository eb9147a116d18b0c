"""What a reader has to say about an export that is not quite as it should be.

A caller that must not overlook it turns the warning into an exit code or an error:

    with warnings.catch_warnings():
        warnings.simplefilter("error", DamagedExportWarning)
        frame = read_table(path)
"""


class ExportWarning(UserWarning):
    """An export could be read, but not as it should be; the base of the two below."""


class DamagedExportWarning(ExportWarning):
    """An export is cut or damaged: the rows before the damage were read, the rest is missing."""


class DriftWarning(ExportWarning):
    """An export holds something other than what it declares or what tracekit knows of."""
