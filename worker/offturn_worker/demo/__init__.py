"""The demonstration: a recorded session of our own, played by a host against a real server and a real worker."""
