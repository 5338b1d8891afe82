"""Compiled arithmetic: arrays in, arrays out. Knows nothing of tables, roles or methods."""
