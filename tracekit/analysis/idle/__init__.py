"""Why the device of the target had nothing to do: the idle time, cut into pieces by cause."""
