"""Settings that held-out bags choose."""
