"""What the fake xctrace recorded, in the form in which it finds it in a bundle of its own."""

STATE = {
    "template": "Metal System Trace",
    "instruments": [],
    "limit": 10,
    "started": "2026-11-20T10:15:03.000+00:00",
    "ended": "2026-11-20T10:15:04.000+00:00",
    "duration": 1.0,
    "reason": "Target app exited",
    "version": "26.0 (17C529)",
    "target": {"type": "attached", "pid": 4711, "name": "python3"},
    "counter_set": "(null)",
    "counter_rows": False,
}
