"""Tables to try things on: made up here, or read from the reference data. May import table and kernels."""
