"""How the target hands work to the device: command buffers in flight, waits, launches."""
