"""The timeline: tracks of intervals on one axis, packed for the page, drawn without script."""
